// What a request of a machine has to be for it to count: signed by its key for just this, and fresh.
import { mutantsOf } from "../mutant.ts";

const JWT = "worker/identity/jwt.ts";
const DEFENCES = "worker/identity/defences.test.ts";
const TICKETS = "worker/machine/tickets.ts";
const PAYLOAD = '(await jwtVerify(jwt, key, { algorithms: ["EdDSA"], typ, audience })).payload';
const UNVERIFIED = `JSON.parse(atob(jwt.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/")))`;

const STALE = `if (use.kind === "stale") return refusal("ticket-stale", { ticket: this.#offerTicket() });
    `;

export const requestMutants = [
  ...mutantsOf("somebody on the internet", [
    [
      "signatures",
      JWT,
      PAYLOAD,
      UNVERIFIED,
      "worker/http/machine-routes.test.ts",
      "signed by another machine's key",
    ],
    ["one algorithm", JWT, 'algorithms: ["EdDSA"], typ, ', "typ, ", DEFENCES, "another algorithm"],
    [
      "the action's type",
      JWT,
      "], typ, audience",
      "], audience",
      "stories/leave.test.ts",
      "a report's signature is none",
    ],
    [
      "the origin",
      JWT,
      "typ, audience })",
      "typ })",
      "worker/http/machine-routes.test.ts",
      "another audience",
    ],
    [
      "the name",
      JWT,
      "claims?.sub !== expected.name || ",
      "claims === null || ",
      "worker/http/machine-routes.test.ts",
      "another subject",
    ],
    [
      "a kid's MAC",
      "worker/identity/kid.ts",
      "return crypto.subtle.verify(HMAC, await key.hmac(), bytes, input);",
      "return bytes !== input;",
      DEFENCES,
      "a kid that this Worker made for another",
    ],
    [
      "a kid for one name",
      "worker/identity/kid.ts",
      "`rollcall-kid\\n${name}\\n",
      "`rollcall-kid\\n\\n",
      DEFENCES,
      "a kid that this Worker made for another",
    ],
    [
      "the enrolment in a kid",
      "worker/machine/pinned-keys.ts",
      "!signer || enrolment.id !== enrolmentId)",
      "!signer || enrolment.id === undefined)",
      DEFENCES,
      "a kid of another enrolment",
    ],
    [
      "a cap before a body is read",
      "worker/index.ts",
      'app.use(bodyLimit({ maxSize: LIMITS.bodyBytes, onError: () => refuse("body-too-large") }));',
      "",
      "worker/http/hostile.test.ts",
      "in chunks, over the limit, to /v1/tokens",
    ],
    [
      "a cap on what is read",
      "worker/http/machine-routes.ts",
      'if (body.byteLength > LIMITS.bodyBytes) return refuse("body-too-large");',
      "",
      "worker/http/hostile.test.ts",
      "longer than its content-length says",
    ],
    [
      "names are names",
      "worker/index.ts",
      'validateNodeName(c.req.param("name")).length > 0',
      "false",
      "stories/enrolment.test.ts",
      "for the name UPPER",
    ],
    [
      "names in one spelling",
      "worker/index.ts",
      "if (isEncoded || ",
      "if (",
      "worker/http/hostile.test.ts",
      "a name written %6eode",
    ],
    [
      "one spelling of a key",
      JWT,
      "base64url.encode(bytes) === jwk.x ? jwk.x",
      "bytes ? jwk.x",
      "worker/http/hostile.test.ts",
      "of a machine's key",
    ],
  ]),
  ...mutantsOf("a thief of traffic, TLS or not", [
    [
      "the body's digest",
      JWT,
      " || claims.body !== expected.bodyDigest",
      "",
      "worker/http/machine-routes.test.ts",
      "another body's digest",
    ],
    [
      "tickets",
      TICKETS,
      "known?.nonce === use.ticket",
      "known !== undefined",
      "worker/http/machine-routes.test.ts",
      "no ticket",
    ],
    [
      "a ticket's life",
      TICKETS,
      "if (!ticket || nowMs - ticket.issuedAtMs > lifetimeMs)",
      "if (!ticket)",
      DEFENCES,
      "withheld for longer than a lease lasts",
    ],
    [
      "a count under a ticket",
      TICKETS,
      "if (use.n <= ticket.n) return",
      "if (use.n < 0) return",
      "worker/http/machine-routes.test.ts",
      "the same ticket and n, another body",
    ],
    [
      "a used ticket ends the one before",
      TICKETS,
      "if (ticket === tickets.current) delete tickets.previous;",
      "",
      DEFENCES,
      "a ticket before the one that was just used",
    ],
    [
      "the same again counts once",
      TICKETS,
      "use.body === ticket.body && ticket.answer !== undefined",
      "use.body === null",
      "worker/http/machine-routes.test.ts",
      "the same answer",
    ],
    [
      "nobody pushes a ticket out",
      TICKETS,
      "current && current.n === 0 &&",
      "current && current.n === -1 &&",
      "worker/http/machine-routes.test.ts",
      "the machine's own ticket stays good",
    ],
    [
      "a rotation under a ticket",
      "worker/machine/node-object.ts",
      `${STALE}const answer = this.#prepare(next);`,
      `const answer = this.#prepare(next);
    if (use.kind === "stale") return answer;`,
      "stories/rotation.test.ts",
      "recorded and sent again",
    ],
    [
      "a leave under a ticket",
      "worker/machine/node-object.ts",
      `${STALE}const answer = this.remove(request.name, \`machine \${verified.by}\`);`,
      `const answer = this.remove(request.name, \`machine \${verified.by}\`);
    if (use.kind === "stale") return answer;`,
      "stories/leave.test.ts",
      "without a ticket",
    ],
  ]),
];
