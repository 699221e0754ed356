// What a gateway renews, and for whom; what one machine can cost it. Who may open a socket is in connect.ts.
import { mutantsOf } from "../mutant.ts";

const BEAT = "worker/gateway/decide-beat.ts";
const BEAT_TEST = "worker/gateway/decide-beat.test.ts";
const HELD = "worker/gateway/held-order.ts";
const MAC = "worker/gateway/heartbeat-mac.ts";
const MAC_TEST = "worker/gateway/heartbeat-mac.test.ts";
const HEARTBEATS = "worker/gateway/heartbeats.ts";
const REPORTS = "worker/gateway/reports.ts";
const ENDINGS = "worker/gateway/endings.ts";
const OPENINGS = "worker/gateway/openings.ts";
const OPENINGS_TEST = "worker/gateway/openings.test.ts";
const WATCH_TEST = "worker/gateway/watch.test.ts";
const FRAME = "worker/gateway/read-frame.ts";
const GATEWAY = "worker/gateway/gateway.ts";
const GATEWAY_TEST = "worker/gateway/gateway.test.ts";

export const gatewayMutants = [
  ...mutantsOf("a thief of traffic on a socket, TLS or not", [
    [
      "a heartbeat is its machine's",
      BEAT,
      "!situation.isAuthentic || ",
      "",
      GATEWAY_TEST,
      "another machine's MAC",
    ],
    ["a heartbeat counts once", BEAT, "heartbeat.n !== session.n + 1 || ", "", BEAT_TEST, "the n before"],
    [
      "a heartbeat is over the last answer",
      HEARTBEATS,
      "session.nonce = nonce();",
      "",
      GATEWAY_TEST,
      "over another nonce",
    ],
    [
      "a MAC is over nonce and payload",
      MAC,
      "encoder.encode(heartbeatText(nonce, payload))",
      "encoder.encode(payload)",
      MAC_TEST,
      "over nonce and payload",
    ],
    [
      "a connect ticket opens one socket",
      OPENINGS,
      'return "used ticket";',
      "return null;",
      OPENINGS_TEST,
      "opens one socket",
    ],
  ]),
  ...mutantsOf("a proxy that hoards heartbeats", [
    [
      "a heartbeat that is held back renews nothing",
      BEAT,
      "|| isLate",
      "",
      GATEWAY_TEST,
      "older than a lease duration",
    ],
    [
      "one heartbeat at a time",
      HEARTBEATS,
      "!session || socket.isBeating",
      "!session",
      GATEWAY_TEST,
      "two equal ones at once",
    ],
    [
      "an order ends a lease duration after its last renewal",
      HELD,
      "nowMs - (renewedMs ?? receivedMs) >= order.leaseMs",
      "false",
      BEAT_TEST,
      "from the last renewal",
    ],
    [
      "an order ends when it says",
      HELD,
      "nowMs - receivedMs >= order.quietForMs || ",
      "",
      BEAT_TEST,
      "as it says",
    ],
    [
      "a clock that was put back ends an order",
      HELD,
      "|| nowMs < Math.max(receivedMs, askedMs ?? 0, heardMs ?? 0)",
      "",
      GATEWAY_TEST,
      "the order is over",
    ],
  ]),
  ...mutantsOf("a machine that was switched off", [
    [
      "only heartbeats renew: an unquiet one is a report's",
      BEAT,
      'if (!isQuiet(held.order.quiet, vitals, skewMs)) return again("not quiet");',
      "",
      GATEWAY_TEST,
      "an unquiet one",
    ],
    [
      "a machine that is not heard of is told of",
      "worker/gateway/watch.ts",
      "dueMs(socket) <= nowMs",
      "false",
      WATCH_TEST,
      "for three heartbeats, its socket half-open",
    ],
    [
      "an eviction forgets nobody",
      "worker/gateway/watch.ts",
      "return members.names().filter(isLost);",
      "return [];",
      WATCH_TEST,
      "members that never come back",
    ],
    [
      "when a machine was heard of last outlives an eviction",
      "worker/gateway/sockets.ts",
      "held.attachment = { ...held.attachment, beatMs, heardMs: this.#nowMs() };\n    held.socket.serializeAttachment(held.attachment);",
      "held.attachment = { ...held.attachment, beatMs, heardMs: this.#nowMs() };",
      WATCH_TEST,
      "however often it comes",
    ],
    [
      "a member is stored before its report is passed on",
      REPORTS,
      "// An eviction may come between what is lent and its receipt: then too somebody has to notice the machine's silence.\n    this.#in.members.put(name, gateway);",
      "",
      GATEWAY_TEST,
      "while the first report is under way, and the machine does not come back",
    ],
  ]),
  ...mutantsOf("a clone with a socket of its own", [
    [
      "an accepted socket takes the other's place",
      REPORTS,
      'this.#endings.hangUp(other, "replaced", 1000 * GATEWAY_LIMITS.awaySeconds);',
      "",
      GATEWAY_TEST,
      "the later takes the earlier one's place",
    ],
    [
      "a heartbeat of a replaced session is told",
      HEARTBEATS,
      "replaced.isNoted = true;\n    await",
      "if (replaced.isNoted) await",
      GATEWAY_TEST,
      "that the replaced one sends afterwards",
    ],
  ]),
  ...mutantsOf("an enrolled machine that means harm", [
    [
      "a recall ends the order",
      ENDINGS,
      "if (held) held.isEnded = true;",
      "",
      GATEWAY_TEST,
      "takes the order",
    ],
    [
      "a recall waits for the PUT under way",
      ENDINGS,
      "await member.renewing;",
      "",
      GATEWAY_TEST,
      "resolves once the PUT under way has ended",
    ],
    [
      "a recall drops an order that comes later",
      REPORTS,
      "started && started.session.held.order.epoch > member.floor ? started : null",
      "started",
      GATEWAY_TEST,
      "that overtakes its order",
    ],
    [
      "who is dismissed renews nothing",
      GATEWAY,
      "if (member?.held) member.held.isEnded = true;\n    if (member) member.held = null;",
      "",
      GATEWAY_TEST,
      "that has come when its machine is dismissed",
    ],
    [
      "nothing is renewed while a report is under way",
      BEAT,
      'if (situation.isReporting) return again("over");',
      "",
      BEAT_TEST,
      "a report is under way",
    ],
    [
      "a lease is renewed so often and not more often",
      BEAT,
      "mayAsk && !isTooSoon",
      "mayAsk",
      GATEWAY_TEST,
      "just before the least time between two renewals",
    ],
    [
      "heartbeats that come too early end a socket",
      HEARTBEATS,
      "++socket.earlyBeats >= GATEWAY_LIMITS.earlyBeats",
      "socket.earlyBeats > 0",
      GATEWAY_TEST,
      "ten times a second",
    ],
    [
      "heartbeats that are refused end a socket",
      HEARTBEATS,
      "++socket.refusedFrames >= GATEWAY_LIMITS.refusedFrames",
      "socket.refusedFrames > 0",
      GATEWAY_TEST,
      "the third refusal closes",
    ],
    [
      "who is told to report must not go on with heartbeats",
      HEARTBEATS,
      'socket.isToldAgain || reason === "not fresh"',
      'reason === "not fresh"',
      GATEWAY_TEST,
      "who sends heartbeats in place of the report",
    ],
    [
      "reports over a socket are limited",
      REPORTS,
      'if (left < 1) return this.#endings.sendAway(socket, "too often");',
      "",
      GATEWAY_TEST,
      "a flood of them",
    ],
    [
      "a frame's size is looked at first",
      FRAME,
      'typeof frame !== "string" || isTooLarge(frame)',
      'typeof frame !== "string"',
      "worker/gateway/read-frame.test.ts",
      "just over",
    ],
    [
      "who was sent away stays away",
      OPENINGS,
      "if (awayMs > 0)",
      "if (awayMs < 0)",
      GATEWAY_TEST,
      "the third refusal closes, and the machine is away",
    ],
    [
      "a name has so many sockets without a report",
      OPENINGS,
      'this.#endings.hangUp(oldest, "replaced", 0);',
      "oldest.isBeating = false;",
      OPENINGS_TEST,
      "one more",
    ],
    [
      "a socket without an accepted report ends",
      OPENINGS,
      "attachment.beatMs === null && reporting === 0 && isLate",
      "attachment.beatMs === null && reporting === 0 && !socket",
      WATCH_TEST,
      "is closed after ten seconds",
    ],
    [
      "a gateway has its size",
      OPENINGS,
      "this.#others(name) < size() || members.has(name)",
      "members.count >= 0",
      OPENINGS_TEST,
      "so many machines, and not one more",
    ],
    [
      "an apiserver that fails is asked by one request at a time",
      "worker/gateway/suspension.ts",
      "!this.#isProbing && ",
      "",
      "worker/gateway/suspension.test.ts",
      "then one at a time",
    ],
  ]),
];
