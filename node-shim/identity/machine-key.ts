// Makes a machine's key, from its JWK or anew. Uses neither files nor network.
import {
  calculateJwkThumbprint,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from "jose";

export interface MachineKey {
  /** Private JWK (OKP, Ed25519): what is kept on disk. */
  jwk: JWK;
  signing: CryptoKey;
  /** `x` alone, for headers. */
  publicJwk: { kty: "OKP"; crv: "Ed25519"; x: string };
  /** RFC 7638. */
  thumbprint: string;
}

/** A key from its private JWK; throws where the JWK is not an Ed25519 private key. */
export async function machineKey(jwk: JWK): Promise<MachineKey> {
  const { kty, crv, x, d } = jwk;
  if (kty !== "OKP" || crv !== "Ed25519" || !x || !d) throw new Error("not an Ed25519 private key");
  const publicJwk = { kty: "OKP", crv: "Ed25519", x } as const;
  const signing = await importJWK({ ...publicJwk, d }, "EdDSA");
  return {
    jwk: { ...publicJwk, d },
    signing,
    publicJwk,
    thumbprint: await calculateJwkThumbprint(publicJwk),
  };
}

export async function makeMachineKey(): Promise<MachineKey> {
  const { privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
  return machineKey(await exportJWK(privateKey));
}
