// What keeps a bad version of the shim, and whoever falls silent with it on purpose, from most machines.
import { mutantsOf } from "../mutant.ts";

const DECISION = "shared/fleet/rollout.ts";
const DECISION_TEST = "shared/fleet/rollout.test.ts";
const ROLLOUTS = "worker/fleet/rollouts.ts";
const ROLLOUTS_TEST = "worker/fleet/rollouts.test.ts";

export const rolloutMutants = mutantsOf("an enrolled machine that means harm", [
  [
    "the rollout stops by itself",
    ROLLOUTS,
    "if (why !== null) this.#stop(why);",
    "",
    ROLLOUTS_TEST,
    "it stops by itself",
  ],
  [
    "one that has stopped gives nobody anything",
    DECISION,
    'if (isStopped) return stay("stopped");',
    "",
    DECISION_TEST,
    "the rollout has stopped → refused",
  ],
  [
    "a machine that never came up with the version counts as silent",
    DECISION,
    'if (summary.state === "silent")',
    'if (summary.state === "silent" && before === "upgraded")',
    DECISION_TEST,
    "it falls silent before it reports with it",
  ],
  [
    "only so many upgrade at once",
    DECISION,
    'return underway() < rollout.atOnce ? given : stay("too many at once");',
    "return given;",
    DECISION_TEST,
    "as many are under way as may be",
  ],
  [
    "no machine is told to go back",
    DECISION,
    'if (!isBehind(version, rollout.version)) return stay("up to date");',
    "",
    DECISION_TEST,
    "it has a later one",
  ],
  [
    "a machine asks the fleet index so often",
    "worker/machine/upgrade.ts",
    "if (!this.#mayAsk(this.#nowMs())) return ASKED_TOO_OFTEN;",
    "",
    "stories/rollouts.test.ts",
    "once more → refused",
  ],
  [
    "what becomes an argument of a package manager is a version",
    "shared/protocol/rollout-api.ts",
    'z.regex(RELEASE, "must be a version: 0.2.0, 0.3.0-rc.1")',
    "z.minLength(1)",
    "worker/http/rollout-routes.test.ts",
    "a flag for a package manager",
  ],
]);
