// Several senders with one key: none of them may keep a Node alive that is not its own.
import { mutantsOf } from "../mutant.ts";

const CLONES = "shared/node/duplicate-senders.ts";
const CLONES_TEST = "stories/clones.test.ts";

export const cloneMutants = [
  ...mutantsOf("a thief of a machine's disk or key", [
    [
      "turns with the machine",
      CLONES,
      "returns(turns.map(machineOf)) >= RETURNS",
      "returns(turns.map(machineOf)) >= 99",
      CLONES_TEST,
      "in turns → cloned",
    ],
    [
      "turns with a copy of its memory",
      CLONES,
      "if (forks >= FORKS || ",
      "if (",
      CLONES_TEST,
      "of a machine that ran, with its memory",
    ],
    [
      "a startId is known to its process alone",
      "worker/machine/parse-report.ts",
      "startId: await digestOf(sent.startId)",
      "startId: sent.startId",
      "stories/clones-secret.test.ts",
      "has a startId",
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
