// Signs the apt repository with OpenPGP in JavaScript, without a keyring or an agent.
import { readFileSync } from "node:fs";
import {
  type Config,
  CleartextMessage,
  createCleartextMessage,
  decryptKey,
  type PrivateKey,
  readPrivateKey,
  sign,
} from "openpgp";
import { faultOf } from "../../node-shim/base/fault.ts";

/** The settings of OpenPGP with which one text, key and time always give the same bytes. */
const CONFIG: Partial<Config> = {
  nonDeterministicSignaturesViaNotation: false,
  showVersion: false,
  showComment: false,
};

/** The signing key as armored text, and its passphrase. */
export interface KeyText {
  armored: string;
  passphrase?: string | undefined;
}

export interface KeyEnvironment {
  ROLLCALL_APT_KEY?: string | undefined;
  ROLLCALL_APT_KEY_PASSPHRASE?: string | undefined;
}

/** Returns the key from the file, else from the environment, else undefined. Throws if the file cannot be read. */
export function keyText(file: string | undefined, environment: KeyEnvironment): KeyText | undefined {
  const armored = file === undefined ? environment.ROLLCALL_APT_KEY : readFileSync(file, "utf8");
  return armored ? { armored, passphrase: environment.ROLLCALL_APT_KEY_PASSPHRASE } : undefined;
}

/** Reads the signing key. Throws for a public key, a wrong passphrase, or a key that has expired by `date`. */
export async function signingKey({ armored, passphrase }: KeyText, date: Date): Promise<PrivateKey> {
  const key = await readPrivateKey({ armoredKey: armored }).catch((error: unknown) => {
    throw new Error(
      `the signing key cannot be read (${faultOf(error)}): it must be a private key as "gpg --armor --export-secret-keys" prints it`,
      { cause: error },
    );
  });
  const open = key.isDecrypted() ? key : await unlocked(key, passphrase);
  await open.getSigningKey(undefined, laterOf(date, open.getCreationTime())).catch((error: unknown) => {
    throw new Error(`the signing key cannot sign: ${faultOf(error)}`, { cause: error });
  });
  return open;
}

async function unlocked(privateKey: PrivateKey, passphrase: string | undefined): Promise<PrivateKey> {
  if (!passphrase) throw new Error("the signing key has a passphrase: set ROLLCALL_APT_KEY_PASSPHRASE");
  try {
    return await decryptKey({ privateKey, passphrase });
  } catch (error) {
    throw new Error("ROLLCALL_APT_KEY_PASSPHRASE is not the signing key's passphrase", { cause: error });
  }
}

/** Returns `text` signed inline, as InRelease is, and not before the key's creation, which verifiers refuse. */
export async function inlineSigned(text: string, key: PrivateKey, date: Date): Promise<string> {
  const message: CleartextMessage = await createCleartextMessage({ text });
  const at = laterOf(date, key.getCreationTime());
  const signed = await sign({ message, signingKeys: key, date: at, config: CONFIG });
  return signed.replaceAll("\r\n", "\n");
}

/** Returns the armored key that machines trust. */
export function publicKeyOf(key: PrivateKey): string {
  return key.toPublic().armor().replaceAll("\r\n", "\n");
}

const laterOf = (a: Date, b: Date) => (a < b ? b : a);
