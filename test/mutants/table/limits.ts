// How much one sender may cost, and what nobody learns.
import { mutantsOf } from "../mutant.ts";

const FAILURES = "worker/http/failure-limits.ts";
const LIMITS_TEST = "stories/limits.test.ts";

export const limitMutants = [
  ...mutantsOf("somebody who sends very much", [
    [
      "failures are limited",
      FAILURES,
      "if (success) return refuse(reason);",
      "return refuse(reason);",
      LIMITS_TEST,
      "just over it asked to wait",
    ],
    [
      "a refusal before signatures",
      FAILURES,
      "return untilMs > Date.now() ? tooManyFailures() : null;",
      "return untilMs > Date.now() + 1e9 ? tooManyFailures() : null;",
      LIMITS_TEST,
      "an enrolment costs no signature",
    ],
    [
      "a customer's addresses are one",
      FAILURES,
      "return ip && network(ip);",
      'return ip && (c.req.header("cf-connecting-ip") ?? "");',
      LIMITS_TEST,
      "IPv6: a customer has 64 bits",
    ],
    [
      "a machine's own limit",
      "worker/machine/fresh-requests.ts",
      "|| this.#mayAsk(Date.now())",
      "|| this.#mayAsk !== undefined",
      LIMITS_TEST,
      "at the limit → answered; just over",
    ],
  ]),
  ...mutantsOf("a reader of logs", [
    [
      "no secret in the audit log",
      "worker/registry/registry-object.ts",
      "detail: request.names",
      "detail: token",
      "worker/http/operator-routes.test.ts",
      "and no secret",
    ],
  ]),
];
