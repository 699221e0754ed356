// Checks the way out of this machine: which proxy and authorities, and whether the proxy opens the way to the Worker.
import { faultOf } from "../base/fault.ts";
import type { StatusFile } from "../status/status-file.ts";
import { authorities } from "../worker-link/authorities.ts";
import type { Outbound } from "../worker-link/outbound.ts";
import { environmentProxy, proxyTo } from "../worker-link/proxy.ts";
import { ProxyFault } from "../worker-link/tunnel.ts";
import { fail, type Finding, ok, warn } from "./finding.ts";
import type { WorkerProbes } from "./worker-probes.ts";

/** What `run` would use for this origin; outbound is null where `run` would end. */
export function findOutbound(
  origin: string,
  { caFile }: { caFile?: string },
  environment: NodeJS.ProcessEnv,
): { outbound: Outbound | null; findings: Finding[] } {
  const findings: Finding[] = [];
  const outbound: Outbound = { proxy: null, trust: undefined };
  try {
    outbound.proxy = proxyTo(origin, environment);
    if (!outbound.proxy && origin.startsWith("https:")) findings.push(ok("proxy", whyNone(environment)));
  } catch (error) {
    findings.push(fail("proxy", faultOf(error), "correct the variable, also where the service has it from"));
  }
  try {
    if (caFile !== undefined) outbound.trust = authorities(caFile, environment);
  } catch (error) {
    findings.push(fail("CA file", faultOf(error), "pass a file of certificates in PEM"));
  }
  const isUsable = findings.every(({ level }) => level !== "fail");
  return { outbound: isUsable ? outbound : null, findings };
}

/** sudo and systemd pass no variable of a shell on, so it is worth a line that there is none. */
function whyNone(environment: NodeJS.ProcessEnv): string {
  if (environmentProxy(environment)) return "none: NO_PROXY excepts the Worker, or it is this machine";
  const isPlain = Boolean(environment["HTTP_PROXY"] || environment["http_proxy"]);
  return `none: HTTPS_PROXY is not set${isPlain ? ", and HTTP_PROXY is not for https://" : ""}`;
}

/** Behind a proxy, it is the proxy that has to find the Worker's name. */
export async function checkProxy(url: URL, { tunnel }: WorkerProbes, outbound: Outbound): Promise<Finding> {
  const { origin = "", source = "", authorization = null } = outbound.proxy ?? {};
  try {
    await tunnel(url, outbound);
  } catch (error) {
    const reason = error instanceof ProxyFault ? error.reason : "no proxy";
    return fail("proxy", faultOf(error), PROXY_TODO[reason](source, url.host));
  }
  const named = authorization === null ? "" : ", with a name and password";
  return ok("proxy", `${origin} (${source}${named})`);
}

const PROXY_TODO: Readonly<Record<ProxyFault["reason"], (source: string, host: string) => string>> = {
  unreachable: (source) => `check ${source}, and that this machine may reach the proxy`,
  credentials: (source) => `set ${source}=http://NAME:PASSWORD@HOST:PORT, as whoever runs the proxy says`,
  refused: (_, host) =>
    `have whoever runs the proxy allow CONNECT to ${host}; or name it in NO_PROXY, to go past the proxy`,
  "no proxy": (source) =>
    `check that ${source} is the URL of an HTTP proxy, and http:// or https:// as it listens`,
};

// Checks whether sockets pass the way to the Worker, and which way this machine's shim reports now. Opens none.

const TODO =
  "nothing has to be done: HTTP does the same, at a higher price for whoever runs the Worker; to have sockets, let WebSockets to it through";

/** An upgrade that the Worker itself refuses has come through whatever is on the way. */
export async function checkSocket(url: URL, { upgrade }: WorkerProbes, outbound: Outbound): Promise<Finding> {
  const { why, reason } = await upgrade(url, outbound);
  if (reason === "not-found") return ok("WebSocket", "this Worker has no sockets: reports go by HTTP");
  if (reason !== null && reason !== "upgrade-required")
    return ok("WebSocket", "the request that opens a socket reaches the Worker");
  return warn("WebSocket", `reports go by HTTP, since no socket can be opened: ${why}`, TODO);
}

/** Which way the reports of a shim that runs go, and why not over a socket. */
export function transportFindings({ transport }: StatusFile): Finding[] {
  if (transport === undefined) return [];
  const { via, choice, fault } = transport;
  if (via === "socket") return [ok("transport", "reports go over a socket")];
  if (choice === "http") return [ok("transport", "reports go by HTTP (--transport http)")];
  if (fault === undefined) return [ok("transport", "reports go by HTTP; nothing stands in a socket's way")];
  return [warn("transport", `reports go by HTTP, since there is no socket: ${fault}`, TODO)];
}
