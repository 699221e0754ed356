// What an answer, a time or another writer decides: each condition that keeps a machine from what is not its own.
import { mutantsOf } from "../mutant.ts";

const REMOVAL = "worker/machine/removal.ts";
const KUBE = "worker/kube/kube-client.ts";
const PINS = "worker/registry/pins.ts";
const REMOVAL_TEST = "worker/machine/removal.test.ts";
const KUBE_TEST = "worker/kube/kube-client.test.ts";
const PINS_TEST = "worker/registry/pins.test.ts";
const UPKEEP_TEST = "worker/machine/upkeep.test.ts";

export const decisionMutants = [
  ...mutantsOf("a thief of the Worker's cluster token", [
    ["no redirect with the cluster token", KUBE, 'redirect: "manual",', "", KUBE_TEST, "follows no redirect"],
  ]),
  ...mutantsOf("a thief of an old key", [
    [
      "a removal leaves a Node that somebody else keeps alive",
      REMOVAL,
      "if (lease.ok && foreignRenewer(lease.value, deployment, nowMs()) !== null) return success(null);",
      "",
      REMOVAL_TEST,
      "somebody else keeps the Node alive",
    ],
    [
      "a removal leaves another Node's lease",
      REMOVAL,
      "ownerReferences.some((owner) => owner.uid === (ourUid ?? knownUid))",
      "ownerReferences.length >= 0",
      REMOVAL_TEST,
      "whose lease is another Node's",
    ],
    [
      "a removal deletes the Node that it has looked at",
      KUBE,
      ", preconditions: { uid } };",
      ", uid };",
      KUBE_TEST,
      "deleteNode deletes that uid alone",
    ],
    [
      "an enrolment waits for a removal",
      REMOVAL,
      "await this.#underWay?.catch(() => undefined);",
      "",
      REMOVAL_TEST,
      "waits for a removal that is under way",
    ],
    [
      "a report is confirmed for a pinned key alone",
      PINS,
      "if (!isPinned(held, thumbprint)) return null;",
      "",
      PINS_TEST,
      "by a key that has no name",
    ],
    [
      "a rotation follows the pin that stands",
      PINS,
      "if (held?.generation !== generation || isBuried(sql, thumbprint))",
      "if (!held || isBuried(sql, thumbprint))",
      PINS_TEST,
      "of an earlier pin",
    ],
    [
      "a leave is of the pin that stands",
      PINS,
      "held.generation !== generation || !isPinned(held, thumbprint)",
      "!isPinned(held, thumbprint)",
      PINS_TEST,
      "by an earlier pin",
    ],
  ]),
  ...mutantsOf("a thief of a machine's disk or key", [
    [
      "a revoked pin is confirmed no more",
      PINS,
      " || held.revokedAtMs !== null) return null;",
      ") return null;",
      PINS_TEST,
      "of a name that was revoked",
    ],
    [
      "no tick for who is not enrolled",
      "worker/machine/upkeep.ts",
      'if (!keys.enrolled()) return { phase: "node deleted", ready: false };',
      "",
      UPKEEP_TEST,
      "not enrolled any more",
    ],
    [
      "no alarm asks for the revoked",
      "worker/machine/node-object.ts",
      "if (keys.enrolled()) {\n      await this.#lending.learn",
      "{\n      await this.#lending.learn",
      "worker/machine/node-object.test.ts",
      "an alarm of a machine that was revoked",
    ],
  ]),
  ...mutantsOf("a machine that was switched off", [
    [
      "a container runtime that the machine has had is remembered",
      "worker/machine/known-facts.ts",
      'if (runtime !== known) records.put("runtime", runtime);',
      "",
      "stories/container-runtime.test.ts",
      "on a machine that had one",
    ],
    [
      "the operator's word is about a runtime that is not there",
      "shared/from-report/reported-status.ts",
      "vitals.errors?.runtime ?? missingRuntime(facts, runtimeMemory)",
      "runtimeMemory.isWaived ? null : (vitals.errors?.runtime ?? missingRuntime(facts, runtimeMemory))",
      "stories/container-runtime.test.ts",
      "that is there and reports an error",
    ],
  ]),
  ...mutantsOf("a machine's root user", [
    [
      "the apiserver's words stay with the Worker",
      "worker/tick/registration.ts",
      "return { phase: phaseOf(error), ...refusalMessage(error), retryInMs: nextDelayMs(context) };",
      "return { phase: phaseOf(error), message: JSON.stringify(error), retryInMs: nextDelayMs(context) };",
      "worker/http/machine-routes.test.ts",
      "which has a phase alone",
    ],
  ]),
  ...mutantsOf("another machine, with a token of its own", [
    [
      "a kid for the pinned key alone",
      "worker/http/machine-routes.ts",
      "if (!enrolled?.thumbprints.includes(thumbprint))",
      "if (!enrolled)",
      "worker/http/machine-routes.test.ts",
      "another one was pinned meanwhile",
    ],
  ]),
  ...mutantsOf("whoever forges Access's headers", [
    [
      "a wrong secret ends before Access",
      "worker/identity/operator.ts",
      'return failure({ reason: "another secret" });',
      "",
      "worker/http/operator-routes.test.ts",
      "a secret that is wrong is not overlooked",
    ],
  ]),
  ...mutantsOf("a thief of the scrape secret", [
    [
      "the scrape secret is no operator's",
      "worker/identity/operator.ts",
      "    if (await isSecret(secret, env.VIEW_SECRET_SHA256))",
      "    if (await isScrapeSecret(secret, env))",
      "worker/http/metrics-route.test.ts",
      "the scraper's secret opens nothing else",
    ],
    [
      "without the scrape secret one has to be an operator",
      "worker/http/metrics-route.ts",
      'if (!(await isScrapeSecret(bearer(c.req.header("authorization")), c.env))) return operator(c, next);',
      "",
      "worker/http/metrics-route.test.ts",
      "somebody else",
    ],
  ]),
];
