-- The owner is told each morning. Where the server was down at seven, once when it is back.
SELECT turnstile.schedule('daily summary', '0 7 * * *', 'summary', queue => 'mail', time_zone => 'Europe/Berlin', catch_up => 'once');
