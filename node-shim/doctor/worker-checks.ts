// Can this machine reach its Worker? Name, certificate, answer, clock. Sends nothing about the machine.
import { lookup as dnsLookup } from "node:dns/promises";
import { get as httpGet, type IncomingMessage } from "node:http";
import { get as httpsGet } from "node:https";
import { isIP } from "node:net";
import { connect, type PeerCertificate } from "node:tls";
import { codeOf, faultOf } from "../base/fault.ts";
import { fail, type Finding, ok, warn } from "./finding.ts";

const DEADLINE_MS = 5000;
/** A certificate that ends sooner should have been renewed. */
const RENEWED_BEFORE_DAYS = 14;
/** The Date header has whole seconds. */
const SKEW_MS = 5000;
const DAY_MS = 86_400_000;

export interface WorkerProbes {
  /** The addresses of a host name; rejects when it has none. */
  lookup: (host: string) => Promise<string[]>;
  /** The certificate behind a host, and why it is not trusted; rejects when there is no TLS. */
  certificate: (url: URL) => Promise<SeenCertificate>;
  /** GET /livez. */
  livez: (url: URL) => Promise<Livez>;
  /** Milliseconds since 1970, by the machine's clock. */
  now: () => number;
}

export interface SeenCertificate {
  /** Not after, in milliseconds since 1970. */
  endsMs: number;
  /** "DNS:a.example, DNS:b.example" */
  names: string;
  /** null where it is trusted. */
  distrust: string | null;
}

interface Livez {
  status: number;
  body: string;
  /** The Date header, in milliseconds since 1970. */
  dateMs: number | null;
}

/** In the order in which one needs the other; ends where going on would only repeat the fault. */
export async function checkWorker(origin: string, probes: WorkerProbes): Promise<Finding[]> {
  const url = new URL(origin);
  const findings = [await checkName(url, probes)];
  if (findings[0]?.level === "fail") return findings;
  if (url.protocol === "https:") findings.push(await checkCertificate(url, probes));
  if (findings.some(({ level }) => level === "fail")) return findings;
  return [...findings, ...(await checkAnswer(url, probes))];
}

const hostOf = ({ hostname }: URL) => hostname.replaceAll(/[[\]]/g, "");

async function checkName(url: URL, { lookup }: WorkerProbes): Promise<Finding> {
  const host = hostOf(url);
  if (isIP(host)) return ok("DNS", `${host} is an address`);
  try {
    return ok("DNS", `${host} is ${(await lookup(host)).join(", ")}`);
  } catch (error) {
    return fail(
      "DNS",
      `${host} has no address (${codeOf(error)})`,
      "check the URL's spelling and the resolver: getent hosts " + host,
    );
  }
}

async function checkCertificate(url: URL, { certificate, now }: WorkerProbes): Promise<Finding> {
  let seen: SeenCertificate;
  try {
    seen = await certificate(url);
  } catch (error) {
    return fail(
      "TLS",
      `no TLS with ${url.host}: ${faultOf(error)}`,
      `let outbound HTTPS to ${url.host} through the firewall`,
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
    return warn("TLS", `the certificate ends in ${days} days`, "see that whoever runs the Worker renews it");
  return ok("TLS", `the certificate is trusted and lasts ${days} days`);
}

function distrustTodo({ names, distrust }: SeenCertificate, host: string): string {
  if (distrust?.includes("ALTNAME"))
    return `it is for ${names || "no name"}, not ${host}: correct the URL, or the Worker's domain`;
  return "a proxy may stand in between: install its authority and name the file in NODE_EXTRA_CA_CERTS";
}

async function checkAnswer(url: URL, { livez, now }: WorkerProbes): Promise<Finding[]> {
  const before = now();
  let answer: Livez;
  try {
    answer = await livez(url);
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
  return [ok("Worker", `${url.origin} answers`), clockFinding(answer.dateMs, before + (now() - before) / 2)];
}

function clockFinding(dateMs: number | null, nowMs: number): Finding {
  if (dateMs === null) return ok("clock", "the answer has no Date header: not compared");
  // Half a second: a Date header is cut off, not rounded.
  const skewMs = nowMs - dateMs - 500;
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  if (Math.abs(skewMs) <= SKEW_MS) return ok("clock", `within ${SKEW_MS / 1000} s of the Worker's`);
  return warn(
    "clock",
    `${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} the Worker's`,
    "set it and keep it set: timedatectl set-ntp true",
  );
}

/** The probes of a real machine. */
export function workerProbes(): WorkerProbes {
  return {
    lookup: async (host) =>
      (await withDeadline(dnsLookup(host, { all: true }))).map(({ address }) => address),
    certificate: readCertificate,
    livez: readLivez,
    now: Date.now,
  };
}

async function withDeadline<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${DEADLINE_MS / 1000} s`)), DEADLINE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function readCertificate(url: URL): Promise<SeenCertificate> {
  const host = hostOf(url);
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port: Number(url.port || 443),
      // Told, not thrown: no request is sent here.
      rejectUnauthorized: false,
      ...(isIP(host) ? {} : { servername: host }),
    });
    socket.setTimeout(DEADLINE_MS, () =>
      socket.destroy(new Error(`no answer within ${DEADLINE_MS / 1000} s`)),
    );
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      const { valid_to, subjectaltname = "" } = socket.getPeerCertificate() as Partial<PeerCertificate>;
      const { authorized, authorizationError } = socket;
      socket.destroy();
      const distrust = authorized ? null : codeText(authorizationError);
      resolve({ endsMs: Date.parse(valid_to ?? ""), names: subjectaltname, distrust });
    });
  });
}

/** Node has an error or its code there, whatever its types say. */
function codeText(error: unknown): string {
  return typeof error === "string" ? error : codeOf(error);
}

function readLivez(origin: URL): Promise<Livez> {
  const get = origin.protocol === "https:" ? httpsGet : httpGet;
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const fault = (error: Error) =>
      reject(signal.aborted ? new Error(`no answer within ${DEADLINE_MS / 1000} s`) : error);
    const request = get(new URL("/livez", origin), { agent: false, signal }, (response) => {
      response.on("error", fault);
      let body = "";
      response.on("data", (chunk: Buffer) => {
        if (body.length < 100) body += chunk.toString();
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body, dateMs: dateOf(response) }));
    });
    request.on("error", fault);
  });
}

function dateOf(response: IncomingMessage): number | null {
  const date = Date.parse(response.headers.date ?? "");
  return Number.isNaN(date) ? null : date;
}
