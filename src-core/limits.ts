/** Milliseconds, where not said; every wait of Core has one of these. */

export const HEARTBEAT_MS = 2_000
/** An agent that says nothing for so long is ended and started again. */
export const SILENCE_MS = 15_000
export const HELLO_MS = 15_000
/** From a process's end until its channel must have given its last message. */
export const LAST_WORDS_MS = 1_000
/** From the order to end a process until it counts as gone. */
export const KILL_MS = 5_000

export const RESTART_MS = 1_000
export const RESTART_MAX_MS = 30_000
/** An agent that lived so long is restarted without delay growing. */
export const HEALTHY_MS = 60_000

export const REMOTE_PROBE_MS = 30_000
export const RUNTIMES_PROBE_MS = 20_000
export const REAP_PROBE_MS = 20_000
export const REMOVE_PROBE_MS = 60_000
/** Of a commit and a push from a workspace that no agent holds. */
export const PUSH_PROBE_MS = 15 * 60_000
/** The longest that an answer can be taken back. */
export const UNDO_MAX_MS = 30_000
/** How many questions the planner tries at once. */
export const PLANNER_RUNS = 2
/** How long who asks for a deletion waits for its end. */
export const DELETE_MS = 120_000

/** How long an interrupt, a stop or a finish may take before the agent is ended instead. */
export const INTERRUPT_MS = 30_000
export const STOP_MS = 5 * 60_000
/** To interrupt a turn and end the runtime, so that another one goes on. */
export const LET_GO_MS = 60_000
export const FINISH_MS = 30 * 60_000
/** A large repository is pushed or bundled, and its state sealed and read back. */
export const PARK_MS = 30 * 60_000

/** Deadlines are looked at so often at least. */
export const DEADLINE_TICK_MS = 30_000
/** Of a push of what is kept of a parked session; one that needs longer has twice as long the next time. */
export const KEPT_PUSH_MS = 2 * 60_000
export const KEPT_PUSH_MAX_MS = 30 * 60_000
/** So long a push may keep a session from being resumed or finished; then that begins beside it. */
export const KEPT_PUSH_ALONE_MS = 2 * 60_000
/** From a push that did not go through to the next, doubling. */
export const KEPT_PUSH_RETRY_MS = 30_000
export const KEPT_PUSH_RETRY_MAX_MS = 15 * 60_000

/** From a storage failure until what an agent told is tried again, doubling. */
export const RETRY_MS = 1_000
export const RETRY_MAX_MS = 30_000

/** Of writing a session to a file, or reading one in. */
export const MOVE_MS = 30 * 60_000
/** How long who asks for an export waits for the file to get its name. */
export const NAME_MS = 20_000
/** Of a look at everything that lies in the data folder, or its removal. */
export const GC_PROBE_MS = 10 * 60_000

export const SHUTDOWN_MS = 10_000
