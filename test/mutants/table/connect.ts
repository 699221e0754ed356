// Who may open a socket, and at which gateway: verified before an object is woken.
import { mutantsOf } from "../mutant.ts";

const TICKET = "worker/identity/connect-ticket.ts";
const TICKET_TEST = "worker/identity/connect-ticket.test.ts";
const JWT = "worker/identity/jwt.ts";
const JWT_TEST = "worker/identity/jwt.test.ts";
const ROUTES = "worker/http/gateway-routes.ts";
const ROUTES_TEST = "worker/http/gateway-routes.test.ts";

export const connectMutants = [
  ...mutantsOf("somebody on the internet", [
    [
      "a socket is for a kid of this Worker's",
      ROUTES,
      "!kid || !(await isIssuedKid(macKeysOf(c), name, kid))",
      "!kid",
      ROUTES_TEST,
      "a kid that this Worker did not make",
    ],
    [
      "a socket is for who has a ticket",
      ROUTES,
      "if (!(await isConnectTicket(macKeysOf(c), connecting, query.t, Date.now())))",
      "if (!query)",
      ROUTES_TEST,
      "no object is made for them",
    ],
    [
      "a connect ticket's MAC",
      TICKET,
      'key !== undefined && isMacOf(key, "connect", { text: macText(connecting, end), mac })',
      "key !== undefined",
      TICKET_TEST,
      "a later end",
    ],
    [
      "a connect ticket for one name",
      TICKET,
      "`rollcall-connect\\n${name}\\n",
      "`rollcall-connect\\n\\n",
      TICKET_TEST,
      "another name",
    ],
    ["a connect ticket for one kid", TICKET, "\\n${kid}\\n", "\\n\\n", TICKET_TEST, "another kid"],
    [
      "a connect ticket for one gateway",
      TICKET,
      "\\n${gateway}\\n",
      "\\n\\n",
      TICKET_TEST,
      "another gateway",
    ],
    ["a connect ticket's time", TICKET, "\\n${end}`", "`", TICKET_TEST, "a later end"],
    [
      "a MAC key for connect tickets alone",
      "worker/identity/mac-keys.ts",
      'connect: "rollcall-connect-key"',
      'connect: "rollcall-challenge-key"',
      TICKET_TEST,
      "a MAC for a challenge of the same words",
    ],
    [
      "a socket is for the kid's key",
      JWT,
      'if (signer.thumbprint !== request.thumbprint) return failure("signed by another key");',
      "",
      JWT_TEST,
      "which is in its header",
    ],
    [
      "a socket's type",
      JWT,
      "signer.imported, JWT_TYPES.connect, request.origins",
      "signer.imported, JWT_TYPES.report, request.origins",
      JWT_TEST,
      "of another type → not accepted, and nothing",
    ],
    [
      "a socket is for one origin",
      JWT,
      'if (typeof claims.aud !== "string") return failure("signed for several origins");\n  return isKey',
      "return isKey",
      JWT_TEST,
      "with several origins → not accepted",
    ],
    [
      "a socket's key is one",
      JWT,
      'isKeyOf32Bytes(claims.session) ? success(claims as ConnectClaims) : failure("no X25519 key")',
      "success(claims as ConnectClaims)",
      JWT_TEST,
      "a session in another spelling",
    ],
  ]),
  ...mutantsOf("whoever makes up paths of gateways", [
    [
      "a gateway's number in one spelling",
      ROUTES,
      'if (!NUMBER.test(c.req.param("gateway"))) return refuse("not-found");',
      "",
      ROUTES_TEST,
      "the number 07",
    ],
  ]),
  ...mutantsOf("a thief of traffic, TLS or not", [
    ["a connect ticket's end", TICKET, "nowMs > endMs || ", "", TICKET_TEST, "after more"],
    [
      "a socket is for one name",
      JWT,
      'claims.sub !== request.name || claims.method !== "GET"',
      'claims.method !== "GET"',
      JWT_TEST,
      "with another name → not accepted",
    ],
    [
      "a socket is opened by GET",
      JWT,
      ' || claims.method !== "GET" || ',
      " || ",
      JWT_TEST,
      "with another method → not accepted",
    ],
    [
      "a socket is for one gateway",
      JWT,
      " || claims.path !== request.path)\n    return OTHER_CLAIMS;\n  // jose",
      ")\n    return OTHER_CLAIMS;\n  // jose",
      JWT_TEST,
      "another gateway's path",
    ],
  ]),
  ...mutantsOf("a thief of an old key", [
    [
      "another gateway is for the name's key",
      "worker/registry/gateways.ts",
      "AND (thumbprint = ?2 OR next_thumbprint = ?2)",
      "AND ?2 <> ''",
      "worker/registry/gateways.test.ts",
      "by a key that has lost the name",
    ],
  ]),
];
