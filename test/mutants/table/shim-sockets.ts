// What keeps a machine's socket to its own gateway, and what lets nobody on the way hold a machine up.
import { mutantsOf } from "../mutant.ts";

const WEBSOCKET = "node-shim/worker-link/websocket.ts";
const SESSION = "node-shim/worker-link/session.ts";
const SOCKET = "node-shim/worker-link/socket-transport.ts";
const STATE = "node-shim/worker-link/link-state.ts";
const LINK = "node-shim/worker-link/link.ts";
const REPORTER = "node-shim/worker-link/reporter.ts";
const WEBSOCKET_TEST = "node-shim/worker-link/websocket.test.ts";
const SESSION_TEST = "node-shim/worker-link/session.test.ts";
const SOCKET_TEST = "node-shim/worker-link/socket-transport.test.ts";
const STATE_TEST = "node-shim/worker-link/link-state.test.ts";
const LINK_TEST = "node-shim/worker-link/link.test.ts";

export const shimSocketMutants = mutantsOf("a proxy on the way", [
  [
    "an upgrade's signature goes to the Worker alone",
    LINK,
    "&& new URL(path, origin).origin === origin",
    "",
    LINK_TEST,
    "an offer of another origin",
  ],
  [
    "what is no WebSocket's path is passed over",
    LINK,
    ' || path.includes("#")',
    "",
    LINK_TEST,
    "an offer of a path with a fragment",
  ],
  [
    "an upgrade's deadline",
    WEBSOCKET,
    "      socket.terminate();\n    }, deadlineMs);",
    "    }, 2 ** 30);",
    WEBSOCKET_TEST,
    "within the deadline",
  ],
  [
    "a message's size",
    WEBSOCKET,
    "maxPayload: maxBytes",
    "maxPayload: 2 ** 30",
    WEBSOCKET_TEST,
    "more than is wanted",
  ],
  [
    "a heartbeat is made over the last answer's nonce",
    SESSION,
    "      nonce = answer.nonce;\n",
    "",
    SESSION_TEST,
    "heartbeats in their order",
  ],
  [
    "an answer is to the last heartbeat",
    SESSION,
    "if (answer.n !== n) return false;",
    "",
    SESSION_TEST,
    "an answer to another heartbeat",
  ],
  [
    "a session's secret is of this machine's name",
    SESSION,
    "sessionInfo(name, publicKey, workerKey)",
    'sessionInfo("", publicKey, workerKey)',
    SESSION_TEST,
    "heartbeats in their order",
  ],
  [
    "a report over a socket is signed with its key",
    REPORTER,
    "...(session !== undefined && { session })",
    "",
    LINK_TEST,
    "asks for a socket, opens it",
  ],
  [
    "a socket's deadline",
    SOCKET,
    "this.#clock.timer(this.#deadlineMs, late)",
    "this.#clock.timer(2 ** 30, late)",
    SOCKET_TEST,
    "no answer within the deadline",
  ],
  [
    "a report ends what was lent",
    SOCKET,
    "    this.#session = null;\n    this.#isReportWanted = false;",
    "    this.#isReportWanted = false;",
    SOCKET_TEST,
    "in a frame of the most bytes",
  ],
  [
    "what the Worker asks for is a report",
    SOCKET,
    "      this.#isReportWanted = true;\n",
    "",
    SOCKET_TEST,
    "report-now",
  ],
  [
    "a frame's size",
    SOCKET,
    "    if (Buffer.byteLength(frame) > LIMITS.bodyBytes) return null;\n",
    "",
    SOCKET_TEST,
    "in a frame of the most bytes",
  ],
  [
    "sockets that end soon are failures",
    STATE,
    'state.socket === "accepted" && state.answeredAtMs - state.openedAtMs >= LASTING_MS',
    'state.socket === "accepted"',
    STATE_TEST,
    "for less than a minute",
  ],
  [
    "three failures are enough",
    STATE,
    "failures >= GATEWAY_LIMITS.failures",
    "failures >= 2 ** 30",
    STATE_TEST,
    "the third time",
  ],
  [
    "a machine that is sent away stays away",
    STATE,
    "Math.max(comeBackInMs, awayMs)",
    "awayMs",
    STATE_TEST,
    "sent away after a day",
  ],
  [
    "machines come back at random times",
    STATE,
    "random * Math.min(windowMs, TICKET_MS)",
    "0 * Math.min(windowMs, TICKET_MS)",
    STATE_TEST,
    "at the latest",
  ],
  [
    "a stale ticket is not used",
    STATE,
    "  if (nowMs - due.offeredAtMs > TICKET_MS) return { ...state, due: null };\n",
    "",
    STATE_TEST,
    "as after a suspend",
  ],
]);
