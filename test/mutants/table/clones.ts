// Several senders with one key: none of them may keep a Node alive that is not its own.
import { mutantsOf } from "../mutant.ts";

const CLONES = "shared/node/duplicate-senders.ts";
const CLONES_TEST = "stories/clones.test.ts";
const UNSEEN_TEST = "stories/clones-unseen.test.ts";

export const cloneMutants = [
  ...mutantsOf("a thief of a machine's disk or key", [
    [
      "turns with the machine",
      CLONES,
      "returns(keys) >= RETURNS",
      "returns(keys) >= 99",
      CLONES_TEST,
      "in turns → cloned",
    ],
    [
      "turns with a copy of its memory",
      CLONES,
      "if (forks.length >= FORKS) return",
      "if (forks.length >= 99) return",
      CLONES_TEST,
      "of a machine that ran, with its memory",
    ],
    [
      "a copy of its memory, or whoever knows its startId, makes its tickets late",
      "worker/machine/tickets.ts",
      "isLate: isSuperseded && isOfLastProcess",
      "isLate: false",
      UNSEEN_TEST,
      "n from 1000, the startId known",
    ],
    [
      "forks outlive an eviction",
      "worker/machine/duplicate-senders.ts",
      "if (phase !== before || isSign) this.keep(nowMs);",
      "if (phase !== before) this.keep(nowMs);",
      UNSEEN_TEST,
      "a report that is one too many",
    ],
    [
      "a fork counts, also as one request too many",
      "worker/machine/decide-report.ts",
      '"isFork" in freshness && freshness.isFork',
      'freshness.kind === "fresh" && freshness.isFork',
      "worker/machine/decide-report.test.ts",
      "a fork, and one too many",
    ],
    [
      "so many machines are a sign",
      CLONES,
      " || new Set(keys).size > most",
      "",
      UNSEEN_TEST,
      "258 boots between two reports",
    ],
    [
      "so many processes are a sign, and the first one is believed",
      CLONES,
      "(first ?? turns[0])",
      "(first ?? turns.at(-1))",
      UNSEEN_TEST,
      "258 processes between two reports",
    ],
    [
      "facts of a newcomer wait for the machine",
      "worker/machine/changed-facts.ts",
      "incumbent && incumbent.startId !== startId ? incumbent.lastMs : -Infinity",
      "-Infinity",
      UNSEEN_TEST,
      "a process and a boot of its own",
    ],
    [
      "a newcomer with the machine's facts does not take its place",
      "worker/machine/changed-facts.ts",
      "known.startId !== startId && nowMs < known.lastMs + ms",
      "known.startId === startId && nowMs < 0",
      UNSEEN_TEST,
      "the machine's own facts, then its own",
    ],
    [
      "disputed facts wait, also over evictions",
      "worker/machine/changed-facts.ts",
      "isInDoubt ? (senders.waitingSinceMs ?? nowMs) : -Infinity",
      "-Infinity",
      UNSEEN_TEST,
      "another boot each time, the object evicted after each report",
    ],
    [
      "what stood before a thief's facts comes back",
      "worker/machine/changed-facts.ts",
      "replaced?.digest === digest && nowMs - replaced.atMs <= 2 * ms",
      "replaced?.digest === undefined && false",
      UNSEEN_TEST,
      "with a ticket for another process",
    ],
    [
      "a machine that is there before a newcomer does not wait",
      "worker/machine/changed-facts.ts",
      "if (hasReturned(senders, nowMs)) return undefined;",
      "",
      UNSEEN_TEST,
      "another process each time, the object evicted after each report",
    ],
    [
      "one of two shims",
      CLONES,
      'double.phase === "two shims" && double.believed === startId',
      'double.phase === "two shims"',
      CLONES_TEST,
      "the first one keeps the Node",
    ],
  ]),
  ...mutantsOf("a reader of rows, lists or history", [
    [
      "a startId is known to its process alone",
      "worker/machine/parse-report.ts",
      "startId: await digestOf(sent.startId)",
      "startId: sent.startId",
      "stories/clones-secret.test.ts",
      "has a startId",
    ],
  ]),
  ...mutantsOf("a copied disk or image", [
    [
      "clones outlive an eviction",
      "worker/machine/duplicate-senders.ts",
      'if (isWorthStoring(records.get("sightings"), this.#seen, nowMs)) records.put("sightings", this.#seen);',
      "",
      CLONES_TEST,
      "an object evicted after every report",
    ],
    [
      "a report under way when it is found out",
      "worker/machine/upkeep.ts",
      "const suspension = senders.suspension(report.startId, Date.now());",
      "const suspension = undefined;",
      CLONES_TEST,
      "as they are found out",
    ],
  ]),
];
