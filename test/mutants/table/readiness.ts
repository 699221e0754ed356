// What a deployment says about itself: to whom, at what cost, and whom it blames.
import { mutantsOf } from "../mutant.ts";

const JWT = "worker/identity/jwt.ts";
const OPERATOR = "worker/identity/operator.ts";
const PROBE = "worker/kube/probe.ts";
const PROBE_TEST = "worker/kube/probe.test.ts";
const CONFIGURED_TEST = "worker/http/configured.test.ts";
const CONFIGURATION = "shared/deployment/configuration.ts";
const CONFIGURATION_TEST = "shared/deployment/configuration.test.ts";
const OPERATORS_TEST = "worker/http/operator-routes.test.ts";

export const readinessMutants = [
  ...mutantsOf("somebody on the internet", [
    [
      "who has not the key is told nothing about origins",
      JWT,
      'error.claim === "aud" &&',
      "",
      "worker/identity/jwt.test.ts",
      "for another origin → nothing is said about the origin",
    ],
    [
      "readiness is for operators",
      "worker/http/ready-route.ts",
      'readyRoute.get("/readyz", operator, async (c) => {',
      'readyRoute.get("/readyz", async (c) => {',
      OPERATORS_TEST,
      "without credentials",
    ],
    [
      "what is no hash lets nobody in",
      OPERATOR,
      ".filter(isSha256)",
      ".filter((hash) => hash.length > 99)",
      OPERATORS_TEST,
      "is the admin secret, beside a hash that is none",
    ],
  ]),
  ...mutantsOf("somebody who sends very much", [
    [
      "the apiserver is asked once for all who want to know",
      PROBE,
      "this.#underWay ??= this.#probeNow()",
      "this.#underWay = this.#probeNow()",
      PROBE_TEST,
      "a thousand times at once",
    ],
    [
      "what the apiserver answered is good for a while",
      PROBE,
      "sinceMs < PROBED_EVERY_MS) return this.#latest;",
      "sinceMs < 0) return this.#latest;",
      PROBE_TEST,
      "within the time that an outcome is good",
    ],
  ]),
  ...mutantsOf("a viewer", [
    [
      "nothing of a secret is shown",
      CONFIGURATION,
      'return name in SECRETS ? "set" : text;',
      "return text;",
      CONFIGURATION_TEST,
      "of secrets only whether there is one",
    ],
  ]),
  ...mutantsOf("a machine's root user", [
    [
      "nothing is accepted by a Worker that is not configured",
      "worker/http/configured.ts",
      'return stopsMachines ? refuse("not-configured") : null;',
      "return null;",
      CONFIGURED_TEST,
      "with a bound that is no number",
    ],
    [
      "a variable that cannot be read ends no alarm",
      "worker/machine/upkeep.ts",
      "this.#token = heldToken(env);",
      "this.#token = heldToken(env);\n    this.#marks = nodeMarks(env);",
      "worker/machine/upkeep.test.ts",
      "a Worker that has roles that are none → again in a while",
    ],
  ]),
];
