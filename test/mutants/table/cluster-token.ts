// The Worker's token for the apiserver: who has it, what it is good for, how often anybody asks for another.
import { mutantsOf } from "../mutant.ts";

const CHAIN = "worker/cluster/token-chain.ts";
const CHAIN_TEST = "worker/cluster/token-chain.test.ts";
const OBJECT_TEST = "worker/cluster/cluster-object.test.ts";
const KUBE = "worker/kube/kube-client.ts";
const HELD = "worker/kube/held-token.ts";
const HELD_TEST = "worker/kube/held-token.test.ts";
const CHAIN_ID = "worker/kube/token-chain-id.ts";
const SEALED_TEST = "worker/storage/sealed-text.test.ts";

export const clusterTokenMutants = [
  ...mutantsOf("a thief of the Worker's storage", [
    [
      "no token in the clear",
      "worker/cluster/chain-store.ts",
      "await seal(next.token)",
      "await Promise.resolve(next.token)",
      OBJECT_TEST,
      "has no token in the clear",
    ],
    [
      "what is sealed is opened by its secret alone",
      "worker/storage/sealed-text.ts",
      'importKey("raw", bytesOf(secret),',
      'importKey("raw", bytesOf(chain),',
      SEALED_TEST,
      "another secret",
    ],
  ]),
  ...mutantsOf("a thief of the Worker's cluster token", [
    [
      "half of a service token is sent to nobody",
      "worker/kube/way.ts",
      "if (id === null || secret === null) return fetch;",
      "if (id === null) return fetch;",
      "worker/kube/way.test.ts",
      "half of one",
    ],
    [
      "another cluster never sees this one's token",
      CHAIN_ID,
      '"rollcall-token-chain", KUBE_TOKEN, KUBE_URL,',
      '"rollcall-token-chain", KUBE_TOKEN, KUBE_URL && "",',
      SEALED_TEST,
      "another cluster",
    ],
    [
      "a chain is given to its own alone",
      "worker/cluster/cluster-object.ts",
      "if (chain !== id) return null;",
      "",
      OBJECT_TEST,
      "nothing of this one's",
    ],
    [
      "a renewed token is bound to a Secret",
      KUBE,
      'boundObjectRef: { apiVersion: "v1", kind: "Secret", name: secret },',
      "",
      OBJECT_TEST,
      "renews, as infra/rbac allows it",
    ],
    [
      "no request is spent on a token that has ended",
      KUBE,
      "if (connection.hasEnded?.())",
      "if (connection.hasEnded === undefined)",
      "worker/kube/kube-client.test.ts",
      "of a token that has ended is not waited for",
    ],
    [
      "a renewed token is of the same account",
      CHAIN,
      "sameAccount(life.account, account) && ",
      "",
      CHAIN_TEST,
      "of another account",
    ],
    [
      "an account's names are parts of a path",
      "worker/kube/token-life.ts",
      "dnsSubdomainErrors(part).length === 0",
      'dnsSubdomainErrors("x").length === 0',
      "worker/kube/token-life.test.ts",
      "its parts would be parts of a path",
    ],
    [
      "no account but through its token",
      "infra/rbac/rollcall.yaml",
      "resources: [serviceaccounts/token]\n    verbs: [create]",
      "resources: [serviceaccounts/token, serviceaccounts]\n    verbs: [create]",
      "infra/rbac/rbac.test.ts",
      "of all verbs on all resources",
    ],
    [
      "one question a minute",
      HELD,
      "this.#askedAtMs) < ASK_EVERY_MS",
      "this.#askedAtMs) < 0",
      HELD_TEST,
      "asked once a minute",
    ],
    [
      "one attempt a minute",
      CHAIN,
      "this.#triedAtMs) < LEAST_GAP_MS",
      "this.#triedAtMs) < 0",
      CHAIN_TEST,
      "an attempt a minute at most",
    ],
    [
      "one repetition after a 401",
      KUBE,
      "isUnauthorized(answer.error) && !isRepeated",
      "isUnauthorized(answer.error)",
      "worker/kube/kube-client.test.ts",
      "not a third time",
    ],
  ]),
];
