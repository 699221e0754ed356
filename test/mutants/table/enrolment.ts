// Who gets a name: by a token, once, and never over another machine's head.
import { mutantsOf } from "../mutant.ts";

const JWT = "worker/identity/jwt.ts";
const KEYS = "worker/machine/pinned-keys.ts";
const REGISTRY = "worker/registry/admission-request.ts";
const ADMISSION = "worker/registry/admission.ts";
const PENDING = "worker/registry/pending.ts";
const PINS = "worker/registry/pins.ts";
const TOKENS = "worker/registry/tokens.ts";
const JOIN_TOKENS = "shared/protocol/join-tokens.ts";
const DEFENCES = "stories/defences.test.ts";
const ENROLMENT_TEST = "stories/enrolment.test.ts";
const TOKENS_TEST = "worker/registry/tokens.test.ts";
const NAMES_TEST = "stories/pinned-names.test.ts";
const ROTATION_TEST = "stories/rotation.test.ts";
const bury = (why: string) => `buryPin(sql, held, nowMs, { why: "${why}" });`;

export const enrolmentMutants = [
  ...mutantsOf("somebody on the internet", [
    [
      "the token before the name",
      REGISTRY,
      'if (!isBound) return refused("the token did not sign it");',
      'if (!isBound) return storage.sql.exec("SELECT 1 FROM pins WHERE name = ?", name).toArray().length > 0 ? ({ ok: false, error: { reason: "full" } } as never) : refused("the token did not sign it");',
      DEFENCES,
      "learns nothing of a name",
    ],
    [
      "an enrolment's name",
      JWT,
      "claims.sub === request.name &&\n    claims.m",
      "claims.m",
      DEFENCES,
      "another sub",
    ],
    ["an enrolment's method", JWT, "claims.method === request.method &&", "", DEFENCES, "another method"],
    ["an enrolment's path", JWT, "claims.path === request.path &&", "", DEFENCES, "another path"],
  ]),
  ...mutantsOf("a thief of traffic, TLS or not", [
    ["an enrolment's key", JWT, "&&\n    claims.jkt === thumbprint", "", DEFENCES, "another jkt"],
    [
      "the key that a next key follows",
      JWT,
      "claims.previous === request.previous &&",
      "claims.previous !== undefined &&",
      DEFENCES,
      "another previous",
    ],
    [
      "a next key is another one",
      JWT,
      "&& thumbprint !== request.previous",
      "",
      ROTATION_TEST,
      "by the same key twice",
    ],
  ]),
  ...mutantsOf("another machine, with a token of its own", [
    [
      "who asks for a pinned name waits",
      ADMISSION,
      "if (isTaken && !isOwn && !token.rejoin)",
      "if (isTaken && !isOwn && token.rejoin === undefined)",
      NAMES_TEST,
      "→ waits, and the operator sees",
    ],
    [
      "five wait for a name",
      PENDING,
      "if (waiting.length >= MAX_PENDING) return FULL;",
      "",
      NAMES_TEST,
      "five for each name",
    ],
    ["one waits for each token", PENDING, "if (own) return FULL;", "", NAMES_TEST, "one for each token"],
    [
      "nothing is kept of the machine before",
      KEYS,
      '"facts",\n',
      "",
      TOKENS_TEST,
      "nothing that the other machine has reported",
    ],
    [
      "nor of its container runtime, and what an operator said of it",
      KEYS,
      '"runtime",\n',
      "",
      "stories/container-runtime.test.ts",
      "another machine under the name",
    ],
    [
      "the newest pin counts",
      KEYS,
      "return !known || generation > generationOf(known);",
      "return true;",
      NAMES_TEST,
      "takes the newest pin",
    ],
  ]),
  ...mutantsOf("a thief of a join token", [
    [
      "a token's key",
      REGISTRY,
      'if (!isBound) return refused("the token did not sign it");',
      "",
      ENROLMENT_TEST,
      "the proof of another key",
    ],
    [
      "a token's names",
      REGISTRY,
      'if (!nameMatches(token.names, name)) return refused("the token is for other names");',
      "",
      ENROLMENT_TEST,
      "for another name",
    ],
    [
      "a token's uses",
      TOKENS,
      '>= row.uses ? "used up"',
      '< 0 ? "used up"',
      ENROLMENT_TEST,
      "one machine more than its uses",
    ],
    [
      "uses that are kept",
      TOKENS,
      "row.used + row.reserved >=",
      "row.used >=",
      NAMES_TEST,
      "keeps a use of its token",
    ],
    [
      "a machine counts once",
      ADMISSION,
      "if (isKnown && isTaken) return pinnedAs(sql, name, nowMs);",
      "",
      ENROLMENT_TEST,
      "counts a machine once, however often it retries",
    ],
    [
      "a token's end",
      TOKENS,
      'if (row.expires_at_ms <= nowMs) return "expired";',
      "",
      ENROLMENT_TEST,
      "that has expired",
    ],
    [
      "a token's revocation",
      ADMISSION,
      'if (token.state === "revoked") return refused(causeOf(token.state));',
      "",
      TOKENS_TEST,
      "nobody enrols with it any more",
    ],
    [
      "a rejoin token is for one name",
      JOIN_TOKENS,
      'if (rejoin && names.includes("*"))',
      "if (false)",
      TOKENS_TEST,
      "a rejoin token for a pattern",
    ],
    [
      "a rejoin token has one use",
      JOIN_TOKENS,
      "if (rejoin && uses !== 1)",
      "if (false)",
      TOKENS_TEST,
      "a rejoin token with two uses",
    ],
  ]),
  ...mutantsOf("a thief of a machine's disk or key", [
    [
      "a revocation",
      KEYS,
      'isFormer || records.get("enrolment")?.isRevoked',
      "isFormer",
      NAMES_TEST,
      "403 for the machine",
    ],
    ["a revoked key is buried", PINS, bury("revoked"), "", NAMES_TEST, "403 for the machine"],
    [
      "a rejected key is refused",
      ADMISSION,
      'if (isBuried(sql, thumbprint)) return refused("the key is refused for ever");',
      "",
      NAMES_TEST,
      "rejected → is refused for ever",
    ],
  ]),
  ...mutantsOf("a thief of an old key", [
    [
      "a leave takes no other machine's name",
      PINS,
      "if (held && (held.generation !== generation || !isPinned(held, thumbprint)))",
      "if (!held && !generation)",
      "stories/leave.test.ts",
      "whose name another one has by now",
    ],
    [
      "a second look after a removal",
      "worker/machine/removal.ts",
      "return removed.ok ? removeWhatIsThere(cluster, name) : removed;",
      "return removed;",
      "stories/leave.test.ts",
      "takes effect later",
    ],
    [
      "the key before is refused",
      KEYS,
      'const isFormer = records.get("formerKey")?.thumbprint === signer.thumbprint;',
      "const isFormer = false;",
      ROTATION_TEST,
      "the one before is refused for ever",
    ],
    [
      "a key that was rotated out is buried",
      PINS,
      "if (held.nextThumbprint === thumbprint) bury(",
      "if (false) bury(",
      ROTATION_TEST,
      "both keys report until",
    ],
    [
      "no rotation to a buried key",
      PINS,
      "generation !== generation || isBuried(sql, thumbprint))",
      "generation !== generation)",
      ROTATION_TEST,
      "to a key that was refused before",
    ],
    [
      "one rotation at a time",
      "worker/machine/node-object.ts",
      ' || records.get("enrolment")?.thumbprint !== by)',
      ' || !records.get("enrolment"))',
      ROTATION_TEST,
      "by the next key before it has reported",
    ],
    [
      "a key that lost its name is buried",
      ADMISSION,
      'buryPin(sql, findPin(sql, name), nowMs, { why: "taken over", heir: thumbprint });',
      "",
      TOKENS_TEST,
      "takes a pinned name over, once",
    ],
    [
      "a key that left is buried",
      PINS,
      bury("forgotten"),
      "",
      "stories/leave.test.ts",
      "its key is refused for ever",
    ],
    [
      "what is out of date is not followed",
      KEYS,
      'if (generation <= (records.get("outdated") ?? -1)) return false;',
      "",
      NAMES_TEST,
      "a pin read before a removal",
    ],
    [
      "a late enrolment speaks for nobody",
      PINS,
      "if (held?.generation !== generation || held.revokedAtMs !== null) return null;",
      "if (held === undefined) return { gateway: null };",
      DEFENCES,
      "a machine's object that missed",
    ],
  ]),
];
