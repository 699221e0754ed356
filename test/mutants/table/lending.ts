// What ends a machine's right to the renewals of its gateway: each recalls the order first. What the gateway does then is in
// gateways.ts.
import { mutantsOf } from "../mutant.ts";

const OBJECT = "worker/machine/node-object.ts";
const LENDING = "worker/machine/lending.ts";
const RECALLED = "faults/sockets/recalled.test.ts";
const OVERTAKEN = "faults/sockets/overtaken.test.ts";
const SEVERAL = "faults/sockets/several-sockets.test.ts";

export const lendingMutants = [
  ...mutantsOf("an enrolled machine that means harm", [
    [
      "a revocation ends what was lent",
      OBJECT,
      'await this.#lending.end("refused");',
      "",
      RECALLED,
      "an operator revokes its keys",
    ],
    [
      "a removal closes the machine's sockets",
      "worker/machine/removal.ts",
      'await this.#with.lending.end("left");',
      "",
      RECALLED,
      "it leaves → no beat",
    ],
    [
      "a recall says up to which epoch",
      "worker/gateway/gateway.ts",
      "if (member) member.floor = Math.max(member.floor, floor);",
      "",
      OVERTAKEN,
      "the machine reports by HTTP → it is dropped",
    ],
    [
      "an order is later than each recall before it",
      LENDING,
      "this.#lastEpoch + 1, floor + 1",
      "floor",
      OVERTAKEN,
      "the machine reports by HTTP → it is dropped",
    ],
    [
      "nothing is lent to a socket that has ended meanwhile",
      LENDING,
      "if (this.#ends !== connection.since) return null;",
      "",
      OVERTAKEN,
      "its gateway says that the socket has ended",
    ],
    [
      "a recall that finds nothing lent is one all the same",
      LENDING,
      "async recall(): Promise<void> {\n    this.#ends++;",
      "async recall(): Promise<void> {",
      OVERTAKEN,
      "though nothing was out",
    ],
    [
      "nothing is lent during a recall",
      LENDING,
      "this.#recalls > 0 || ",
      "",
      OVERTAKEN,
      "a report of the socket begins and ends",
    ],
    [
      "a gateway's renewals count as the machine's",
      "worker/tick/request-budget.ts",
      "before.renewals - renewals",
      "before.renewals",
      "worker/tick/request-budget.test.ts",
      "some at once",
    ],
  ]),
  ...mutantsOf("a thief of an old key", [
    [
      "a report by HTTP ends what was lent",
      OBJECT,
      "await this.#lending.recall();\n    const answer = await this.#handle",
      "const answer = await this.#handle",
      RECALLED,
      "its next key reports by HTTP, and has to wait",
    ],
    [
      "an enrolment ends what was lent to the machine before",
      OBJECT,
      "await this.#removal.finished();\n    await this.#lending.recall();",
      "await this.#removal.finished();",
      RECALLED,
      "an operator approves another machine",
    ],
    [
      "nothing is lent to a key that was replaced meanwhile",
      LENDING,
      "!state.keys.enrolled()?.thumbprints.includes(by)",
      "!by",
      OVERTAKEN,
      "nothing is lent to the one before",
    ],
  ]),
  ...mutantsOf("a thief of traffic on a socket, TLS or not", [
    [
      "a report is for the socket that it comes by",
      OBJECT,
      "if (verified.value.session !== session) return UNAUTHENTICATED;",
      "",
      "faults/sockets/stale-beats.test.ts",
      "a report of a socket, and sends it by HTTP",
    ],
    [
      "a recorded upgrade keeps nobody away",
      "worker/gateway/endings.ts",
      "if (beatMs !== null) this.#awayUntilMs",
      "if (beatMs !== 0) this.#awayUntilMs",
      "faults/sockets/refused-upgrades.test.ts",
      "an upgrade that a thief has recorded",
    ],
  ]),
  ...mutantsOf("a clone with a socket of its own", [
    [
      "a heartbeat of a replaced session is a fork",
      OBJECT,
      "senders.update(noteFork(senders.seen, nowMs), nowMs);",
      "",
      SEVERAL,
      "the process runs twice",
    ],
    [
      "a heartbeat of a replaced session ends what was lent",
      OBJECT,
      "this.#teller.look();\n    await this.#lending.recall();",
      "this.#teller.look();",
      SEVERAL,
      "the process runs twice",
    ],
    [
      "nothing is lent where there are signs of several senders",
      "worker/machine/decide-order.ts",
      "!isDisputed(senders.seen, nowMs)",
      "!senders.seen.double",
      SEVERAL,
      "the process runs twice",
    ],
  ]),
];
