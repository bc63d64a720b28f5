/** What a worker decides by itself, and is no setting. Times are in milliseconds. */

/** Between attempts that fail: each pause is about twice as long as the one before. */
export const FIRST_PAUSE = 100
export const LONGEST_PAUSE = 5000

/** How long a connection may take to be made, if that is shorter than the setting `answer`. */
export const CONNECT = 10_000
/** A sleeper says nothing for minutes. A server that is gone by then is noticed all the same. */
export const KEEPALIVE_IDLE = 30_000
/** How long a closed connection may take to be gone. */
export const FAREWELL = 2000
/** Ends and heartbeats wait for a locked row so long, or one run would hold up all others. */
export const LOCK_TIMEOUT = '2s'

/** It is worth waiting for more room for a part of the time that a claim takes. */
export const PATIENCE = 0.25
export const LONGEST_PATIENCE = 5
/** What a call costs counts little beside so many jobs. */
export const WORTH_A_CLAIM = 100
/** A sleeper may be woken for a job that another worker gets. So often in a row is no chance any more. */
export const VAIN_WAKE_UPS = 3
export const AFTER_VAIN_WAKE_UPS = 100
/** A claim that is under way at a hard stop gets so long to say what it has claimed. */
export const LAST_ANSWER = 5000
/** Where the server names no end of a lease, and the worker no lease of its own. */
export const NO_LEASE = 300_000

/** Progress of one run is sent no more often than this. */
export const PROGRESS_PAUSE = 500
/** So many runs end in one call at most. */
export const MOST_ENDS = 1000
/** Results of one call, in characters. Larger ones go alone. */
export const MOST_RESULTS = 8 * 1024 * 1024
/** So often an end that is refused is told again, in more than a minute. Then it is not the moment that is wrong with it. */
export const MOST_REFUSALS = 20
/** Characters of an error that are sent: more than the server keeps, in whatever way it counts. */
export const LONGEST_ERROR = 100_000
export const MOST_CAUSES = 5
/** Bytes of the class of an error that the server takes. */
export const LONGEST_CLASS = 255

/** No call of awaitResult sleeps in the server for longer; less where a signal may end it, as a call holds its connection until it is over. */
export const STRETCH = 10_000
export const STRETCH_WITH_SIGNAL = 1000
