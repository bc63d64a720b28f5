SELECT lanes, lanes_outside, bytes FROM turnstile.memory WHERE database = current_database();
