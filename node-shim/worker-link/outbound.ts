// How requests to the Worker leave this machine: directly or through a proxy, and which authorities vouch for it.
import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import tls from "node:tls";
import type { SecureContext } from "node:tls";
import { codeOf, faultOf } from "../base/fault.ts";
import { type Proxy, proxyTo } from "./proxy.ts";
import { ProxyFault, TunnelAgent } from "./tunnel.ts";

export interface Outbound {
  /** null: directly. */
  proxy: Proxy | null;
  /** Of the Worker and of a proxy that is https://; undefined: Node's own authorities. */
  trust: SecureContext | undefined;
}

export const DIRECTLY: Outbound = { proxy: null, trust: undefined };

/** Throws, with what to change, when the environment's proxy or the file cannot be used. */
export function outboundTo(
  origin: string,
  { caFile }: { caFile?: string },
  environment: NodeJS.ProcessEnv,
): Outbound {
  const proxy = proxyTo(origin, environment);
  return { proxy, trust: caFile === undefined ? undefined : authorities(caFile, environment) };
}

// Who makes the connections to the Worker, of HTTP as of sockets: through the proxy where there is one, and with the
// authorities that vouch for the Worker.

/** Keeps connections; `destroy` ends them. `deadlineMs`: for a proxy to open the way. */
export function agentTo(origin: string, { proxy, trust }: Outbound, deadlineMs: number): HttpAgent {
  if (proxy) return new TunnelAgent(proxy, trust, deadlineMs);
  const kept = { keepAlive: true, maxSockets: 2 };
  if (!origin.startsWith("https:")) return new HttpAgent(kept);
  return new HttpsAgent({ ...kept, ...(trust && { secureContext: trust }) });
}

/** In one line, with the proxy where the fault may be its. */
export function connectionFault(error: Error, proxy: Outbound["proxy"]): string {
  const isOfWorker = proxy && !(error instanceof ProxyFault);
  return isOfWorker ? `${faultOf(error)} (through the proxy ${proxy.origin})` : faultOf(error);
}

export const lateText = (deadlineMs: number) => `no answer within ${deadlineMs / 1000} s`;

// --ca-file: authorities of one's own, beside those that are trusted anyway. Reads the file once.

/** Four times what a distribution's bundle of all public authorities weighs. */
const MAX_FILE_BYTES = 1024 * 1024;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g;

/** Trusts the file's authorities, Node's own, and those of NODE_EXTRA_CA_CERTS. Throws as caFileCertificates does. */
export function authorities(file: string, environment: NodeJS.ProcessEnv): tls.SecureContext {
  const own = caFileCertificates(file);
  return tls.createSecureContext({ ca: [...usualAuthorities(environment), ...own] });
}

/** The certificates in a file of PEM. Throws, with what to change, where there is none, or one that cannot be read. */
export function caFileCertificates(file: string): string[] {
  const certificates = textOf(file).match(CERTIFICATE) ?? [];
  if (certificates.length === 0) throw new Error(`--ca-file ${file} holds no certificate in PEM`);
  const bad = certificates.findIndex((certificate) => !isReadable(certificate));
  if (bad >= 0)
    throw new Error(`--ca-file ${file}: certificate ${bad + 1} of ${certificates.length} cannot be read`);
  return certificates;
}

function isReadable(certificate: string): boolean {
  try {
    return new X509Certificate(certificate).raw.length > 0;
  } catch {
    return false;
  }
}

function textOf(file: string): string {
  let isFile: boolean;
  let size: number;
  let text = "";
  try {
    const stats = statSync(file);
    [isFile, size] = [stats.isFile(), stats.size];
    if (isFile && size <= MAX_FILE_BYTES) text = readFileSync(file, "latin1");
  } catch (error) {
    throw new Error(`--ca-file ${file} cannot be read (${codeOf(error)})`, { cause: error });
  }
  if (!isFile) throw new Error(`--ca-file ${file} is not a file`);
  if (size > MAX_FILE_BYTES) throw new Error(`--ca-file ${file}: ${size} bytes, more than ${MAX_FILE_BYTES}`);
  return text;
}

/** A list of authorities takes the place of Node's own, so those are in it. Node.js 20 cannot be asked for them all. */
function usualAuthorities(environment: NodeJS.ProcessEnv): readonly string[] {
  // The types know newer versions alone.
  const { getCACertificates } = tls as { getCACertificates?: typeof tls.getCACertificates };
  if (getCACertificates) return getCACertificates("default");
  return [...tls.rootCertificates, ...extraAuthorities(environment["NODE_EXTRA_CA_CERTS"])];
}

/** Node has warned at its start where that file cannot be read. */
function extraAuthorities(file: string | undefined): string[] {
  if (!file) return [];
  try {
    return readFileSync(file, "latin1").match(CERTIFICATE) ?? [];
  } catch {
    return [];
  }
}
