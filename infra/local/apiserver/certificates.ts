// Reads a folder's certificate authority, server certificate, admin token and signing key, made by the first start.
import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  X509Certificate,
} from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generate } from "selfsigned";
import { wallClock } from "./timer.ts";

/** The secrets of the server. Clients trust the certificate in DIR/ca.crt. */
export interface Credentials {
  certificate: string;
  key: string;
  /** The bearer token of a member of system:masters, as in DIR/admin-token. */
  adminToken: string;
  /** The private key that signs the tokens of service accounts. */
  signingKey: KeyObject;
}

const validityYears = 10;

function validity(now: Date) {
  const notAfterDate = new Date(now);
  notAfterDate.setFullYear(notAfterDate.getFullYear() + validityYears);
  return { keyType: "ec", curve: "P-256", algorithm: "sha256", notAfterDate } as const;
}

async function makeCertificates(now: Date): Promise<{ ca: string; certificate: string; key: string }> {
  const authority = await generate([{ name: "commonName", value: "rollcall embedded apiserver CA" }], {
    ...validity(now),
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, digitalSignature: true, critical: true },
    ],
  });
  const server = await generate([{ name: "commonName", value: "rollcall embedded apiserver" }], {
    ...validity(now),
    ca: { key: authority.private, cert: authority.cert },
    extensions: [
      { name: "basicConstraints", cA: false, critical: true },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", serverAuth: true },
      {
        name: "subjectAltName",
        altNames: [
          { type: 2, value: "localhost" },
          { type: 2, value: "kubernetes.default.svc" },
          { type: 7, ip: "127.0.0.1" },
          { type: 7, ip: "::1" },
        ],
      },
    ],
  });
  return { ca: authority.cert, certificate: server.cert, key: server.private };
}

function isCurrent(certificateFile: string, now: Date): boolean {
  if (!existsSync(certificateFile)) return false;
  return Date.parse(new X509Certificate(readFileSync(certificateFile)).validTo) > now.getTime();
}

/** Reads the credentials in a folder, and makes missing ones. Never stores the authority's key: it signs only once. */
export async function loadCredentials(dir: string, now = wallClock()): Promise<Credentials> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const caFile = join(dir, "ca.crt");
  const certificateFile = join(dir, "server.crt");
  const keyFile = join(dir, "server.key");
  if (!existsSync(caFile) || !existsSync(keyFile) || !isCurrent(certificateFile, now)) {
    const made = await makeCertificates(now);
    writeFileSync(keyFile, made.key, { mode: 0o600 });
    writeFileSync(certificateFile, made.certificate);
    writeFileSync(caFile, made.ca);
  }
  const tokenFile = join(dir, "admin-token");
  if (!existsSync(tokenFile)) writeFileSync(tokenFile, randomBytes(24).toString("hex"), { mode: 0o600 });
  const signingKeyFile = join(dir, "service-account.key");
  if (!existsSync(signingKeyFile)) {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    writeFileSync(signingKeyFile, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  }
  const read = (file: string) => readFileSync(file, "utf8");
  const adminToken = read(tokenFile).trim();
  const signingKey = createPrivateKey(read(signingKeyFile));
  return { certificate: read(certificateFile), key: read(keyFile), adminToken, signingKey };
}
