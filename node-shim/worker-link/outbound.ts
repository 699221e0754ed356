// Decides how this machine connects to the Worker: directly or through a proxy, and with which certificate authorities.
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import tls from "node:tls";
import type { SecureContext } from "node:tls";
import { codeOf } from "../base/fault.ts";
import { networkFault } from "../base/network-fault.ts";
import { withTrustedFile } from "../base/ownership.ts";
import type { Result } from "../../shared/result.ts";
import { type Proxy, proxyTo } from "./proxy.ts";
import { ProxyFault, TunnelAgent } from "./tunnel.ts";

export interface Outbound {
  /** The proxy; null for a direct connection. */
  proxy: Proxy | null;
  /** The authorities that are trusted for the Worker and for an https proxy; undefined for Node.js's own. */
  trust: SecureContext | undefined;
}

export const DIRECTLY: Outbound = { proxy: null, trust: undefined };

/** Returns proxy and authorities for the Worker. Throws, with the setting to change, for an unusable proxy or file. */
export function outboundTo(
  origin: string,
  { caFile }: { caFile?: string },
  environment: NodeJS.ProcessEnv,
): Outbound {
  const proxy = proxyTo(origin, environment);
  // Node.js itself trusts these authorities already, also if the shim needs no others.
  extraAuthorities(environment["NODE_EXTRA_CA_CERTS"]);
  return { proxy, trust: caFile === undefined ? undefined : authorities(caFile, environment) };
}

/** Returns an agent that keeps one connection until `destroy`. A proxy must open a connection within `deadlineMs`. */
export function agentTo(origin: string, { proxy, trust }: Outbound, deadlineMs: number): HttpAgent {
  if (proxy) return new TunnelAgent(proxy, trust, deadlineMs);
  const kept = { keepAlive: true, maxSockets: 1 };
  if (!origin.startsWith("https:")) return new HttpAgent(kept);
  return new HttpsAgent({ ...kept, ...(trust && { secureContext: trust }) });
}

/** Returns the error as one line, with the proxy's origin if the connection went through a proxy. */
export function connectionFault(error: Error, proxy: Outbound["proxy"]): string {
  const isOfWorker = proxy && !(error instanceof ProxyFault);
  return isOfWorker ? `${networkFault(error)} (through the proxy ${proxy.origin})` : networkFault(error);
}

export const lateText = (deadlineMs: number) => `no answer within ${deadlineMs / 1000} s`;

/** The most bytes of a CA file: four times the size of a distribution's bundle of public authorities. */
const MAX_FILE_BYTES = 1024 * 1024;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g;

/** Returns the authorities of the CA file, Node.js and NODE_EXTRA_CA_CERTS. Throws, with the setting, if unusable. */
export function authorities(file: string, environment: NodeJS.ProcessEnv): tls.SecureContext {
  const own = caFileCertificates(file);
  return tls.createSecureContext({ ca: [...usualAuthorities(environment), ...own] });
}

/** Reads the certificates in a PEM file. Throws, with the setting to change, if the file has none or is unreadable. */
export function caFileCertificates(file: string): string[] {
  const certificates = textOf(file).match(CERTIFICATE) ?? [];
  if (certificates.length === 0) throw new Error(`--ca-file ${file} holds no certificate in PEM`);
  const bad = certificates.findIndex((certificate) => parsed(certificate) === null);
  if (bad >= 0)
    throw new Error(`--ca-file ${file}: certificate ${bad + 1} of ${certificates.length} cannot be read`);
  return certificates;
}

function parsed(certificate: string): X509Certificate | null {
  try {
    return new X509Certificate(certificate);
  } catch {
    return null;
  }
}

function textOf(file: string): string {
  let read: Result<string>;
  try {
    read = withTrustedFile(file, (descriptor, stats) => {
      if (!stats.isFile()) throw new Error(`--ca-file ${file} is not a file`);
      if (stats.size > MAX_FILE_BYTES)
        throw new Error(`--ca-file ${file}: ${stats.size} bytes, more than ${MAX_FILE_BYTES}`);
      return readFileSync(descriptor, "latin1");
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new Error(`--ca-file ${file} cannot be read (${codeOf(error)})`, { cause: error });
  }
  if (!read.ok) throw new Error(`--ca-file ${file} is not trusted: ${read.error}`);
  return read.value;
}

/** Returns Node.js's own authorities, which any list would replace. Node.js 20 has no function that lists them. */
function usualAuthorities(environment: NodeJS.ProcessEnv): readonly string[] {
  // The types claim that the function always exists, but only newer versions of Node.js have it.
  const { getCACertificates } = tls as { getCACertificates?: typeof tls.getCACertificates };
  if (getCACertificates) return getCACertificates("default");
  return [...tls.rootCertificates, ...extraAuthorities(environment["NODE_EXTRA_CA_CERTS"])];
}

/**
 * Returns the certificates in NODE_EXTRA_CA_CERTS's file; none if it is unreadable, about which Node.js has warned
 * at its start. Throws, with the remedy, if another user can have written the file.
 */
function extraAuthorities(file: string | undefined): string[] {
  if (!file) return [];
  let read: Result<string>;
  try {
    read = withTrustedFile(file, (descriptor) => readFileSync(descriptor, "latin1"));
  } catch {
    return [];
  }
  if (!read.ok) throw new Error(`NODE_EXTRA_CA_CERTS ${file} is not trusted: ${read.error}`);
  return read.value.match(CERTIFICATE) ?? [];
}
