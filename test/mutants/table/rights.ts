// What a machine, an operator, the Worker's account and those between them may do.
import { mutantsOf } from "../mutant.ts";

const JOIN_TOKENS = "shared/protocol/join-tokens.ts";
const REPORTED_NODE = "shared/from-report/reported-node.ts";
const REPORT = "worker/machine/parse-report.ts";
const OPERATOR = "worker/identity/operator.ts";
const ACCESS = "worker/identity/access.ts";
const TOKENS_TEST = "worker/registry/tokens.test.ts";
const REPORT_TEST = "worker/http/machine-routes.test.ts";
const OPERATORS_TEST = "worker/http/operator-routes.test.ts";

export const rightsMutants = [
  ...mutantsOf("a machine's root user", [
    [
      "labels that a kubelet may set",
      "shared/kubernetes/labels.ts",
      "isKubernetesLabel(key) && !isKubeletLabel(key)",
      "false",
      "shared/protocol/settings.test.ts",
      "a label of kubernetes.io",
    ],
    [
      "labels that the token lets it set",
      JOIN_TOKENS,
      "!isAllowed(mayLabel, key)",
      "false",
      TOKENS_TEST,
      "another key",
    ],
    [
      "taints that the token lets it set",
      JOIN_TOKENS,
      "!isAllowed(mayTaint, key)",
      "false",
      TOKENS_TEST,
      "a taint it may not",
    ],
    [
      "the token's labels win",
      REPORTED_NODE,
      "...settings.nodeLabels, ...grant.labels,",
      "...grant.labels, ...settings.nodeLabels,",
      TOKENS_TEST,
      "they win over the machine's own",
    ],
    [
      "the facts-only taint",
      REPORTED_NODE,
      "configured !== null && withoutFactsOnlyTaint",
      "configured !== null",
      TOKENS_TEST,
      "they win over the machine's own",
    ],
    [
      "the schema of facts",
      REPORT,
      "const parsed = factsSchema.safeParse(facts);",
      "const parsed = { success: true as boolean, data: facts, error: null };",
      REPORT_TEST,
      "refused → named in the answer",
    ],
    [
      "the digest of facts",
      REPORT,
      ")) !== factsDigest)",
      ")) === null)",
      REPORT_TEST,
      "whose digest is another one",
    ],
    [
      "its own Node alone",
      "shared/node/ownership.ts",
      "if (owner === deployment) return null;",
      "return null;",
      "stories/ownership.test.ts",
      "→ name taken, and at most one look a minute",
    ],
  ]),
  ...mutantsOf("a machine that was switched off", [
    [
      "no alarm renews a lease",
      "worker/machine/node-object.ts",
      "alarm.rang();",
      "alarm.rang();\n    await this.#upkeep.finish();",
      "worker/storage/journal.test.ts",
      "an alarm renews no lease",
    ],
  ]),
  ...mutantsOf("a viewer", [
    [
      "the role admin",
      "worker/http/operator-routes.ts",
      'operator.role !== "admin" && ',
      "false && ",
      "stories/defences.test.ts",
      "a viewer",
    ],
    [
      "who is no admin looks",
      OPERATOR,
      'isAdmin(who.value, env.ACCESS_ADMINS) ? "admin" : "view"',
      '"admin"',
      OPERATORS_TEST,
      "another person",
    ],
  ]),
  ...mutantsOf("a page that an operator visits", [
    [
      "no site but ours, as browsers say",
      OPERATOR,
      'if (site !== null && site !== "same-origin" && site !== "none") return true;',
      "",
      OPERATORS_TEST,
      "another site's page, as browsers say",
    ],
    [
      "no origin but ours",
      OPERATOR,
      "return origin !== null && !own.includes(origin);",
      "return false;",
      OPERATORS_TEST,
      "another origin's page",
    ],
    [
      "no other site reads",
      "worker/index.ts",
      'c.res.headers.set("cache-control", "no-store");',
      'c.res.headers.set("access-control-allow-origin", "*");',
      OPERATORS_TEST,
      "no other site may read it",
    ],
  ]),
  ...mutantsOf("whoever forges Access's headers", [
    ["Access's team", ACCESS, "      issuer: issuerOf(team),\n", "", OPERATORS_TEST, "another team's"],
    ["Access's application", ACCESS, "      audience,\n", "", OPERATORS_TEST, "another application's"],
    ["an assertion's end", ACCESS, '      requiredClaims: ["exp"],\n', "", OPERATORS_TEST, "without an end"],
    [
      "the admin secret",
      OPERATOR,
      "crypto.subtle.timingSafeEqual(expected, actual)",
      "true",
      OPERATORS_TEST,
      "is another",
    ],
  ]),
  ...mutantsOf("a neighbour on the network", [
    [
      "https alone",
      "node-shim/worker-link/origin.ts",
      'parsed.protocol === "http:" && !loopback',
      "false",
      "node-shim/worker-link/origin.test.ts",
      "http to another machine",
    ],
  ]),
  ...mutantsOf("a machine with texts for an operator", [
    [
      "texts of facts without control characters",
      "shared/protocol/schema.ts",
      'z.refine(isPrintable, "a control character"),',
      "",
      "shared/protocol/printable.test.ts",
      "is refused, with its path",
    ],
    [
      "texts of a heartbeat without control characters",
      "shared/protocol/report.ts",
      "printable(value.toWellFormed())",
      "value.toWellFormed()",
      "shared/protocol/printable.test.ts",
      "a vital with a control character",
    ],
    [
      "harmless texts",
      "infra/operator/print.ts",
      ".map((line) => line.map(harmless))",
      "",
      "infra/operator/print.test.ts",
      "control characters",
    ],
  ]),
  // The rules of the admission policies are taken out one by one in test/infra/rbac/policy-tests.ts, where a server enforces them.
  ...mutantsOf("a thief of the Worker's cluster token", [
    [
      "no list of Nodes",
      "infra/rbac/rollcall.yaml",
      "resources: [nodes]\n    verbs: [create, get, patch, delete]",
      "resources: [nodes]\n    verbs: [create, get, patch, delete, list]",
      "infra/rbac/rbac.test.ts",
      "it may not list Nodes",
    ],
    [
      "no secrets",
      "infra/rbac/rollcall.yaml",
      "resources: [nodes]\n    verbs",
      "resources: [nodes, secrets]\n    verbs",
      "infra/rbac/rbac.test.ts",
      "it may not read a secret",
    ],
  ]),
  ...mutantsOf("an operator", [
    [
      "the audit log",
      "worker/registry/registry-object.ts",
      "if (result.ok) audit(",
      "if (!result) audit(",
      OPERATORS_TEST,
      "has every change",
    ],
  ]),
];
