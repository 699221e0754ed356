// Checks that this machine can reach its Worker: proxy, host name, certificate, answer, clock, socket.
import { isIP } from "node:net";
import { codeOf, faultOf } from "../base/fault.ts";
import type { StatusFile } from "../status/status-file.ts";
import { hostOf } from "../worker-link/origin.ts";
import { authorities, DIRECTLY, type Outbound } from "../worker-link/outbound.ts";
import { environmentProxy, proxyTo } from "../worker-link/proxy.ts";
import { ProxyFault } from "../worker-link/tunnel.ts";
import { fail, type Finding, ok, warn } from "./finding.ts";
import type { Livez, SeenCertificate, WorkerProbes } from "./worker-probes.ts";

/** Days before its expiry at which a certificate should have been renewed. */
const RENEWED_BEFORE_DAYS = 14;
/** The largest clock difference to the Worker that is no fault. The Date header has whole seconds. */
const SKEW_MS = 5000;
const DAY_MS = 86_400_000;

/** Checks the connection to the Worker in order of dependence. Ends after a fault that later checks would repeat. */
export async function checkWorker(
  origin: string,
  probes: WorkerProbes,
  outbound: Outbound = DIRECTLY,
  wantsSockets = true,
): Promise<Finding[]> {
  const url = new URL(origin);
  const findings = [await (outbound.proxy ? checkProxy(url, probes, outbound) : checkName(url, probes))];
  if (findings[0]?.level === "fail") return findings;
  if (url.protocol === "https:") findings.push(await checkCertificate(url, probes, outbound));
  if (findings.some(({ level }) => level === "fail")) return findings;
  findings.push(...(await checkAnswer(url, probes, outbound)));
  if (!wantsSockets || findings.some(({ level }) => level === "fail")) return findings;
  return [...findings, await checkSocket(url, probes, outbound)];
}

async function checkName(url: URL, { lookup }: WorkerProbes): Promise<Finding> {
  const host = hostOf(url);
  if (isIP(host)) return ok("DNS", `${host} is an address`);
  try {
    return ok("DNS", `${host} is ${(await lookup(host)).join(", ")}`);
  } catch (error) {
    return fail(
      "DNS",
      `${host} has no address (${codeOf(error)})`,
      `check the URL's spelling and the resolver: getent hosts ${host}; if this machine needs a proxy, set HTTPS_PROXY`,
    );
  }
}

async function checkCertificate(
  url: URL,
  { certificate, now }: WorkerProbes,
  outbound: Outbound,
): Promise<Finding> {
  let seen: SeenCertificate;
  try {
    seen = await certificate(url, outbound);
  } catch (error) {
    return fail(
      "TLS",
      `no TLS with ${url.host}: ${faultOf(error)}`,
      outbound.proxy
        ? `let the proxy pass TLS to ${url.host} through`
        : `let outbound HTTPS to ${url.host} through the firewall, or set HTTPS_PROXY`,
    );
  }
  const days = Math.floor((seen.endsMs - now()) / DAY_MS);
  if (days < 0)
    return fail(
      "TLS",
      `the certificate ended ${-days} days ago`,
      "renew it, or set this machine's clock: timedatectl",
    );
  if (seen.distrust !== null)
    return fail("TLS", `the certificate is not trusted: ${seen.distrust}`, distrustTodo(seen, hostOf(url)));
  if (days < RENEWED_BEFORE_DAYS)
    return warn("TLS", `the certificate ends in ${days} days`, "ask the Worker's operator to renew it");
  return ok("TLS", `the certificate is trusted and lasts ${days} days`);
}

function distrustTodo({ names, distrust }: SeenCertificate, host: string): string {
  if (distrust?.includes("ALTNAME"))
    return `it is for ${names || "no name"}, not ${host}: correct the URL, or the Worker's domain`;
  return "a proxy may intercept TLS: pass the file of its authority with --ca-file (or NODE_EXTRA_CA_CERTS)";
}

async function checkAnswer(url: URL, probes: WorkerProbes, outbound: Outbound): Promise<Finding[]> {
  const { livez, now } = probes;
  const before = now();
  let answer: Livez;
  try {
    answer = await livez(url, outbound);
  } catch (error) {
    return [
      fail(
        "Worker",
        `${url.origin} does not answer: ${faultOf(error)}`,
        "check the URL, its port, and the firewall",
      ),
    ];
  }
  if (answer.status !== 200 || answer.body.trim() !== "ok")
    return [
      fail(
        "Worker",
        `${url.origin}/livez answers HTTP ${answer.status}, not "ok"`,
        "check that this is the URL of a rollcall Worker",
      ),
    ];
  return [
    ok("Worker", `${url.origin} answers`),
    clockFinding(answer.dateMs, before + (now() - before) / 2),
    await checkOrigin(url, probes, outbound),
  ];
}

/** Checks that the origin of this machine's URL, for which the machine signs, is one that the Worker accepts. */
async function checkOrigin(url: URL, { refusal }: WorkerProbes, outbound: Outbound): Promise<Finding> {
  const { origin } = url;
  let reason: string;
  try {
    reason = await refusal(url, outbound);
  } catch (error) {
    return warn(
      "origin",
      `whether requests may be signed for ${origin} is not known: ${faultOf(error)}`,
      AGAIN,
    );
  }
  switch (reason) {
    case "challenge-stale":
      return ok("origin", `this machine signs for ${origin}, which the Worker takes`);
    case "wrong-origin":
      return fail(
        "origin",
        `this machine signs for ${origin}, which is none of the Worker's`,
        "ask the Worker's operator to add it to ORIGINS, or pass the --url of your other machines",
      );
    case "not-configured":
      return fail(
        "origin",
        "the Worker is not configured: it accepts no machine's requests",
        "ask the Worker's operator: GET /readyz shows what is missing",
      );
    default:
      return warn("origin", `whether requests may be signed for ${origin} is not known (${reason})`, AGAIN);
  }
}

const AGAIN = "try again in a minute";

function clockFinding(dateMs: number | null, nowMs: number): Finding {
  if (dateMs === null) return ok("clock", "the answer has no Date header: not compared");
  // A Date header is cut off to whole seconds, so it is half a second late on average.
  const skewMs = nowMs - dateMs - 500;
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  if (Math.abs(skewMs) <= SKEW_MS) return ok("clock", `within ${SKEW_MS / 1000} s of the Worker's`);
  return warn(
    "clock",
    `${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} the Worker's`,
    "set it and keep it set: timedatectl set-ntp true",
  );
}

/** Returns the proxy and certificate authorities of `run` for this origin. `outbound` is null if `run` would fail. */
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
    findings.push(
      fail("proxy", faultOf(error), "correct the variable, also in the service's environment file"),
    );
  }
  try {
    if (caFile !== undefined) outbound.trust = authorities(caFile, environment);
  } catch (error) {
    findings.push(fail("CA file", faultOf(error), "pass a file of certificates in PEM"));
  }
  const isUsable = findings.every(({ level }) => level !== "fail");
  return { outbound: isUsable ? outbound : null, findings };
}

/** Returns why no proxy is used, which operators need: sudo and systemd do not pass on a shell's variables. */
function whyNone(environment: NodeJS.ProcessEnv): string {
  if (environmentProxy(environment)) return "none: NO_PROXY excepts the Worker, or it is this machine";
  const isPlain = Boolean(environment["HTTP_PROXY"] || environment["http_proxy"]);
  return `none: HTTPS_PROXY is not set${isPlain ? ", and HTTP_PROXY is not for https://" : ""}`;
}

/** Checks the connection to the Worker through the proxy, which resolves the Worker's name itself. */
async function checkProxy(url: URL, { tunnel }: WorkerProbes, outbound: Outbound): Promise<Finding> {
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
  credentials: (source) => `set ${source}=http://NAME:PASSWORD@HOST:PORT, as the proxy's operator tells you`,
  refused: (_, host) =>
    `ask the proxy's operator to allow CONNECT to ${host}; or name it in NO_PROXY, to connect without the proxy`,
  "no proxy": (source) =>
    `check that ${source} is the URL of an HTTP proxy, and http:// or https:// as it listens`,
};

const TODO =
  "nothing has to be done: HTTP does the same, at a higher price for the Worker's operator; to have sockets, let WebSockets to it through";

/** Checks that a socket can be opened. If the Worker itself refuses the upgrade, sockets can reach the Worker. */
export async function checkSocket(url: URL, { upgrade }: WorkerProbes, outbound: Outbound): Promise<Finding> {
  const { why, reason } = await upgrade(url, outbound);
  if (reason === "not-found") return ok("WebSocket", "this Worker has no sockets: reports go by HTTP");
  if (reason !== null && reason !== "upgrade-required")
    return ok("WebSocket", "the request that opens a socket reaches the Worker");
  return warn("WebSocket", `reports go by HTTP, since no socket can be opened: ${why}`, TODO);
}

/** Returns findings on the transport of the running shim's reports, and on the reason if it is not a socket. */
export function transportFindings({ transport }: StatusFile): Finding[] {
  if (transport === undefined) return [];
  const { via, choice, fault } = transport;
  if (via === "socket") return [ok("transport", "reports go over a socket")];
  if (choice === "http") return [ok("transport", "reports go by HTTP (--transport http)")];
  if (fault === undefined) return [ok("transport", "reports go by HTTP; nothing prevents a socket")];
  return [warn("transport", `reports go by HTTP, since there is no socket: ${fault}`, TODO)];
}
