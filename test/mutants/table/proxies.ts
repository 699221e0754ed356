// What a proxy on the way to the Worker can see, say and hold up.
import { mutantsOf } from "../mutant.ts";

const TUNNEL = "node-shim/worker-link/tunnel.ts";
const PROXY = "node-shim/worker-link/proxy.ts";
const TUNNEL_TEST = "node-shim/worker-link/tunnel.test.ts";
const PROXY_TEST = "node-shim/worker-link/proxy.test.ts";

export const proxyMutants = mutantsOf("a proxy on the way", [
  [
    "TLS is verified inside a tunnel",
    TUNNEL,
    "{ ...options, socket }",
    "{ ...options, socket, rejectUnauthorized: false }",
    TUNNEL_TEST,
    "TLS is the Worker's",
  ],
  [
    "a proxy with TLS is verified by its own name",
    TUNNEL,
    "servername: servernameOf(url),",
    "",
    TUNNEL_TEST,
    "with TLS of its own",
  ],
  [
    "a proxy's refusal is not the Worker's answer",
    TUNNEL,
    "if (status >= 200 && status < 300) return null;",
    "return null;",
    TUNNEL_TEST,
    "407, no name given",
  ],
  [
    "a proxy says nothing in a tunnel",
    TUNNEL,
    "(head.length > 0 ? eager(proxy, target) : null)",
    "null",
    TUNNEL_TEST,
    "a 200 and then HTTP",
  ],
  [
    "a proxy's deadline",
    TUNNEL,
    "const late = setTimeout(() => request.destroy(lateProxy(proxy, deadlineMs)), deadlineMs);",
    "const late = setTimeout(() => {}, 0);",
    TUNNEL_TEST,
    "never answers → the proxy is late",
  ],
  [
    "a tunnel that is being opened is given up",
    TUNNEL,
    "for (const abandon of this.#underWay) abandon();",
    "",
    TUNNEL_TEST,
    "close() while the proxy thinks",
  ],
  [
    "a proxy is named without its password",
    PROXY,
    "origin: url.origin,",
    "origin: url.href,",
    PROXY_TEST,
    "no word of it in the origin",
  ],
  [
    "a password with a # is no host",
    PROXY,
    'return url.pathname === "/" && url.search === "" && url.hash === "" ? url : null;',
    "return url;",
    PROXY_TEST,
    "in a password of digits",
  ],
]);
