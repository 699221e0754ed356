// An enrolment counts now, for this name and key: what was recorded or held back changes nothing.
import { mutantsOf } from "../mutant.ts";

const JWT = "worker/identity/jwt.ts";
const CHALLENGE = "worker/identity/challenge.ts";
const MAC_KEYS = "worker/identity/mac-keys.ts";
const ROUTES = "worker/http/machine-routes.ts";
const ADMISSION = "worker/registry/admission.ts";
const PINS = "worker/registry/pins.ts";
const CHALLENGE_TEST = "worker/identity/challenge.test.ts";
const REPLAY_TEST = "stories/enrolment-replay.test.ts";

export const freshnessMutants = [
  ...mutantsOf("a thief of traffic, TLS or not", [
    [
      "a challenge's end",
      CHALLENGE,
      "if (Math.abs(nowMs - Number(at)) > CHALLENGE_GOOD_MS) return null;",
      "",
      CHALLENGE_TEST,
      "after more",
    ],
    [
      "a challenge's MAC",
      CHALLENGE,
      'if (!key || !(await isMacOf(key, "challenge", { text: macText(challenged, at), mac }))) return null;',
      "if (!key) return null;",
      CHALLENGE_TEST,
      "another time",
    ],
    [
      "a challenge's name",
      CHALLENGE,
      "\\n${name}\\n${thumbprint}",
      "\\n${thumbprint}",
      CHALLENGE_TEST,
      "another name",
    ],
    [
      "a challenge's key",
      CHALLENGE,
      "\\n${name}\\n${thumbprint}",
      "\\n${name}",
      CHALLENGE_TEST,
      "another key",
    ],
    [
      "a challenge's time",
      CHALLENGE,
      "${thumbprint}\\n${at}`",
      "${thumbprint}`",
      CHALLENGE_TEST,
      "another time",
    ],
    [
      "a MAC key for challenges alone",
      MAC_KEYS,
      'purpose === "kid" ? ofKids() : ofOthers(purpose)',
      "purpose ? ofKids() : ofOthers(purpose)",
      CHALLENGE_TEST,
      "a MAC for a kid of the same words",
    ],
    [
      "the machine signs the challenge",
      JWT,
      "if (!matches(claims, request, thumbprint) || claims.challenge !== request.challenge) return",
      "if (!matches(claims, request, thumbprint)) return",
      "stories/defences.test.ts",
      "another challenge, or none",
    ],
    [
      "the token signs the challenge",
      JWT,
      " && claims.challenge === request.challenge;",
      ";",
      REPLAY_TEST,
      "that the machine has signed and its token has not",
    ],
    [
      "an enrolment is newer than the name's last change",
      ADMISSION,
      'if (asking.challengedAtMs <= latestMs) return failure({ reason: "not fresh", changedAtMs: latestMs });',
      "",
      REPLAY_TEST,
      "signed again, it is decided anew",
    ],
    [
      "an enrolment is not as old as the name's last change",
      ADMISSION,
      "asking.challengedAtMs <= latestMs",
      "asking.challengedAtMs < latestMs",
      REPLAY_TEST,
      "in the very millisecond of a change",
    ],
    [
      "a pin changes its name",
      PINS,
      "SELECT pinned_at_ms AS at_ms FROM pins",
      "SELECT 0 AS at_ms FROM pins",
      REPLAY_TEST,
      "while the name was enrolled",
    ],
    [
      "a lost key changes its name",
      PINS,
      "SELECT MAX(left_at_ms) AS at_ms FROM tombstones",
      "SELECT 0 AS at_ms FROM tombstones",
      REPLAY_TEST,
      "while an operator revoked the name",
    ],
    [
      "no signature is verified before the challenge",
      ROUTES,
      "if (challengedAtMs === null) return askFresh(c, { name, thumbprint });",
      "",
      REPLAY_TEST,
      "over and over from one address",
    ],
  ]),
  ...mutantsOf("a thief of a join token", [
    [
      "a token's end, for whoever waits or lapsed",
      ADMISSION,
      '(token.state === "used up" && isKept)',
      "isKept",
      REPLAY_TEST,
      "is not given a name that is free now",
    ],
  ]),
  ...mutantsOf("a thief of an old key", [
    [
      "a key that lost its name by lapse is buried",
      ADMISSION,
      'buryPin(sql, findPin(sql, name), nowMs, { why: "taken over", heir: thumbprint });',
      'const held = findPin(sql, name);\n  if (isHeld(held, nowMs)) buryPin(sql, held, nowMs, { why: "taken over", heir: thumbprint });',
      REPLAY_TEST,
      "→ its key does not come back",
    ],
    [
      "a next key that lost its name is buried",
      PINS,
      "[held?.thumbprint, held?.nextThumbprint]",
      "[held?.thumbprint]",
      REPLAY_TEST,
      "both its keys are refused for ever",
    ],
    [
      "no operator approves a buried key",
      ADMISSION,
      "!asking || isBuried(sql, thumbprint)",
      "!asking",
      REPLAY_TEST,
      "with a key that was revoked elsewhere",
    ],
  ]),
  ...mutantsOf("somebody who sends very much", [
    [
      "to ask for a challenge is no failure",
      ROUTES,
      'return refuse("challenge-stale", { challenge });',
      'await refuseUnproven(c, "unauthenticated");\n  return refuse("challenge-stale", { challenge });',
      REPLAY_TEST,
      "over and over from one address",
    ],
  ]),
];
