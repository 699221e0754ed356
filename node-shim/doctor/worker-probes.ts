// Sends `node-shim doctor`'s requests to the Worker: name, certificate, answer. No request has data about the machine.
import { lookup as dnsLookup } from "node:dns/promises";
import { get as httpGet, type IncomingMessage } from "node:http";
import { get as httpsGet } from "node:https";
import type { Socket } from "node:net";
import { connect, type PeerCertificate } from "node:tls";
import { randomBytes } from "node:crypto";
import { shownText } from "../../shared/protocol/printable.ts";
import { PROTOCOL } from "../../shared/protocol/report.ts";
import type { PathOf } from "../../shared/protocol/routes.ts";
import { abortAfter, after, systemClock, wallMs } from "../base/clock.ts";
import { codeOf } from "../base/fault.ts";
import { hostOf, servernameOf } from "../worker-link/origin.ts";
import type { Outbound } from "../worker-link/outbound.ts";
import { openTunnel, TunnelAgent } from "../worker-link/tunnel.ts";
import { makeMachineKey } from "../identity/identity.ts";
import { exchange, requestFaultText } from "../worker-link/exchange.ts";
import { httpTransport } from "../worker-link/http-transport.ts";
import { signEnrolment } from "../worker-link/sign.ts";
import { openSocket, type UpgradeRefusal } from "../worker-link/upgrade.ts";

const DEADLINE_MS = 5000;
/** The characters that are read of an answer to /livez, which is `ok`. */
const LIVEZ_LENGTH = 100;

export interface WorkerProbes {
  /** Resolves a host name to its addresses; rejects if it has none. */
  lookup: (host: string) => Promise<string[]>;
  /** Opens a tunnel through the proxy; rejects with a ProxyFault. */
  tunnel: (url: URL, outbound: Outbound) => Promise<void>;
  /** Reads a host's certificate, and the reason if it is not trusted; rejects if the host does not speak TLS. */
  certificate: (url: URL, outbound: Outbound) => Promise<SeenCertificate>;
  livez: (url: URL, outbound: Outbound) => Promise<Livez>;
  /** Sends an enrolment that an unknown key signs. Returns why the Worker refuses; rejects if no reason is given. */
  refusal: (url: URL, outbound: Outbound) => Promise<string>;
  /** Requests a socket with an unknown key. Returns the refusal, and whether the Worker itself sent it. */
  upgrade: (url: URL, outbound: Outbound) => Promise<UpgradeRefusal>;
  /** Returns milliseconds since 1970, by the machine's wall clock. */
  now: () => number;
}

export interface SeenCertificate {
  /** The certificate's end of validity (notAfter), in milliseconds since 1970. */
  endsMs: number;
  /** The certificate's names: "DNS:a.example, DNS:b.example". */
  names: string;
  /** The reason why the certificate is not trusted; null if it is trusted. */
  distrust: string | null;
}

export interface Livez {
  status: number;
  body: string;
  /** The time in the Date header, in milliseconds since 1970; null without that header. */
  dateMs: number | null;
}

export function workerProbes(): WorkerProbes {
  return {
    lookup: async (host) =>
      (await withDeadline(dnsLookup(host, { all: true }))).map(({ address }) => address),
    tunnel: async (url, outbound) => void (await tunnelTo(url, outbound))?.destroy(),
    certificate: readCertificate,
    livez: readLivez,
    refusal: refusalOf,
    upgrade: refusedUpgrade,
    now: wallMs,
  };
}

const lateFault = () => new Error(`no answer within ${DEADLINE_MS / 1000} s`);

async function withDeadline<T>(promise: Promise<T>): Promise<T> {
  let cancel = () => {};
  const late = new Promise<never>((_, reject) => {
    cancel = after(DEADLINE_MS, () => reject(lateFault()));
  });
  return Promise.race([promise, late]).finally(cancel);
}

function tunnelTo(url: URL, { proxy, trust }: Outbound): Promise<Socket | undefined> {
  const target = { host: hostOf(url), port: Number(url.port || 443) };
  return proxy ? openTunnel(target, proxy, trust, DEADLINE_MS).opened : Promise.resolve(undefined);
}

async function readCertificate(url: URL, outbound: Outbound): Promise<SeenCertificate> {
  const tunnel = await tunnelTo(url, outbound);
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: hostOf(url),
      port: Number(url.port || 443),
      // The connection shows an untrusted certificate instead of an error. No request is sent on it.
      rejectUnauthorized: false,
      servername: servernameOf(url),
      ...(tunnel && { socket: tunnel }),
      ...(outbound.trust && { secureContext: outbound.trust }),
    });
    socket.once(
      "close",
      after(DEADLINE_MS, () => socket.destroy(lateFault())),
    );
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      const { valid_to, subjectaltname = "" } = socket.getPeerCertificate() as Partial<PeerCertificate>;
      const { authorized, authorizationError } = socket;
      socket.destroy();
      const distrust = authorized ? null : codeText(authorizationError);
      resolve({ endsMs: Date.parse(valid_to ?? ""), names: shownText(subjectaltname), distrust });
    });
  });
}

/** Returns the error's code or first line. Node.js passes errors or codes, though its types name only errors. */
function codeText(error: unknown): string {
  return typeof error === "string" ? shownText(error) : codeOf(error);
}

function readLivez(origin: URL, { proxy, trust }: Outbound): Promise<Livez> {
  const agent = proxy ? new TunnelAgent(proxy, trust, DEADLINE_MS) : undefined;
  const get = origin.protocol === "https:" ? httpsGet : httpGet;
  return new Promise<Livez>((resolve, reject) => {
    const signal = abortAfter(DEADLINE_MS);
    const fault = (error: Error) => reject(signal.aborted ? lateFault() : error);
    const request = get(
      new URL("/livez", origin),
      { agent: agent ?? false, ...(trust && { secureContext: trust }), signal },
      (response) => {
        response.on("error", fault);
        let body = "";
        const end = () => resolve({ status: response.statusCode ?? 0, body, dateMs: dateOf(response) });
        response.on("data", (chunk: Buffer) => {
          body = (body + chunk.toString()).slice(0, LIVEZ_LENGTH);
          if (body.length < LIVEZ_LENGTH) return;
          end();
          response.destroy();
        });
        response.on("end", end);
      },
    );
    request.on("error", fault);
  }).finally(() => agent?.destroy());
}

/** Reads no enrolment: the Worker refuses an unknown key, so no other answer can come. */
const readNone = () => null;

/** Sends an enrolment without a challenge, which can enrol no machine. Returns the refusal's reason. */
async function refusalOf({ origin }: URL, outbound: Outbound): Promise<string> {
  const { send, close } = httpTransport(origin, DEADLINE_MS, outbound);
  try {
    const path: PathOf<"PUT"> = "/v1/nodes/doctor/enrolment";
    const joinToken = `rcj1_${randomBytes(32).toString("base64url")}`;
    const unknown = { name: "doctor", path, challenge: "", machineID: "", systemUUID: "" };
    const jwts = await signEnrolment(await makeMachineKey(), joinToken, { ...unknown, origin });
    const headers = { "content-type": "application/json" };
    const request = {
      method: "PUT",
      path,
      headers,
      body: JSON.stringify({ protocol: PROTOCOL, ...jwts }),
    } as const;
    const outcome = await exchange<never>(send, request, readNone);
    if (outcome.ok) throw new Error("an unknown key was enrolled");
    if (outcome.error.reason === "failed") throw new Error(requestFaultText(outcome.error));
    return outcome.error.problem.reason;
  } finally {
    close();
  }
}

const NO_LISTENER = {
  asked: () => undefined,
  answered: () => undefined,
  accepted: () => undefined,
  ended: () => undefined,
};

/** Requests a socket with a new key, whose kid no Worker has issued. Returns the refusal. */
async function refusedUpgrade({ origin }: URL, outbound: Outbound): Promise<UpgradeRefusal> {
  const machine = { name: "doctor", origin, key: await makeMachineKey(), kid: "doctor" };
  const upgrading = {
    machine,
    outbound,
    deadlineMs: DEADLINE_MS,
    patienceMs: DEADLINE_MS,
    clock: systemClock,
    random: Math.random,
  };
  const path: PathOf<"GET"> = `/v1/gateways/1/nodes/${machine.name}`;
  const opened = await openSocket(upgrading, path, NO_LISTENER, new AbortController().signal);
  if (!opened.ok) return opened.error;
  opened.value.close();
  return {
    why: "a server other than the Worker has opened a socket for an unknown key",
    reason: null,
    retryAfterMs: 0,
  };
}

function dateOf(response: IncomingMessage): number | null {
  const date = Date.parse(response.headers.date ?? "");
  return Number.isNaN(date) ? null : date;
}
