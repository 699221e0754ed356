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
  ...mutantsOf("an enrolled machine that means harm", [
    [
      "rotations in a day",
      "worker/registry/pins.ts",
      'if (!mayChange(sql, name, "machine.rotate", nowMs))',
      "if (!sql)",
      "stories/enrolled-machine.test.ts",
      "rotates all the time",
    ],
    [
      "no word to the registry of a rotation that is refused",
      "worker/machine/registry-standing.ts",
      "if (this.#nowMs() < this.#rotateAgainAtMs) return CHANGED_TOO_OFTEN;",
      "",
      "worker/machine/registry-standing.test.ts",
      "asked again only after",
    ],
    [
      "enrolments of a name in a day",
      "worker/registry/admission.ts",
      "if (!mayChange(sql, name, what, nowMs)) return TOO_OFTEN;",
      "",
      "stories/enrolled-machine.test.ts",
      "enrols and leaves all the time",
    ],
    [
      "operators' acts apart from what machines cause",
      "worker/registry/audit.ts",
      'insert(sql, "machine_log", record, nowMs);',
      'insert(sql, "audit", record, nowMs);',
      "stories/enrolled-machine.test.ts",
      "rotates all the time",
    ],
    [
      "a day of history",
      "worker/storage/history.ts",
      "if (length >= HISTORY_LIMITS.dayLength) break;",
      "",
      "worker/storage/history.test.ts",
      "that is full",
    ],
    [
      "a page of history",
      "worker/storage/history.ts",
      "if (entries.length > 0 && length > HISTORY_LIMITS.pageLength) break;",
      "",
      "worker/storage/history.test.ts",
      "ends where its texts are long enough",
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
