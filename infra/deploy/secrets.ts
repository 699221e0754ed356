// Gathers secrets that a Worker lacks: made, from kubectl or from files. Prints only an admin secret without a file.
import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { failure, type Result, success } from "../../shared/result.ts";
import { readPrivate, secretText, writeNewPrivate } from "../operator/contexts/secrets.ts";
import { fault, type OperatorFault } from "../operator/fault.ts";
import type { Kubectl } from "../operator/kubectl.ts";
import { type MissingSecret, tokenCommand } from "./plan.ts";
import type { DeploySettings, WorkerSecret } from "./settings-file.ts";

export interface NewSecrets {
  secrets: Partial<Record<WorkerSecret, string>>;
  /** The admin secret that this program made and no file keeps, or null. */
  toShow: string | null;
  /** The admin secret that this program made or its file has, or null. */
  adminSecret: string | null;
}

const newSecret = () => randomBytes(32).toString("base64url");
const sha256 = (text: string) => createHash("sha256").update(text).digest("base64url");

export async function gatherSecrets(
  missing: readonly MissingSecret[],
  settings: DeploySettings,
  kubectl: Kubectl,
): Promise<Result<NewSecrets, OperatorFault>> {
  const gathered: NewSecrets = { secrets: {}, toShow: null, adminSecret: null };
  // Secrets whose source may fail are gathered first. If one fails, no new secret has been made and written to a file.
  const inOrder = missing.toSorted((a, b) => Number(a.from === "made") - Number(b.from === "made"));
  for (const each of inOrder) {
    const value = await secretOf(each, { settings, gathered, kubectl });
    if (!value.ok) return value;
    gathered.secrets[each.secret] = value.value;
  }
  return success(gathered);
}

/** Returns the secrets in files that exist. gatherSecrets reports a missing file. */
export function secretsInFiles({ secretFiles }: DeploySettings): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [secret, file] of Object.entries(secretFiles)) {
    const read = readPrivate(file, secret);
    if (read.ok && read.value !== null) found[secret] = read.value.trim();
  }
  return found;
}

async function secretOf(
  { secret, from, file }: MissingSecret,
  { settings, gathered, kubectl }: { settings: DeploySettings; gathered: NewSecrets; kubectl: Kubectl },
): Promise<Result<string, OperatorFault>> {
  if (from === "file") return readSecret(file ?? "", secret);
  if (from === "cluster") return createToken(settings, kubectl);
  if (secret !== "ADMIN_SECRET_SHA256") return kept(`1:${newSecret()}`, file);
  const admin = adminSecretOf(settings);
  if (!admin.ok) return admin;
  const { adminSecretFile } = settings;
  const made = admin.value === null ? kept(newSecret(), adminSecretFile) : success(admin.value);
  if (!made.ok) return made;
  gathered.adminSecret = made.value;
  if (adminSecretFile === undefined) gathered.toShow = made.value;
  return success(sha256(made.value));
}

/** Reads the admin secret. Returns null if the settings name no file, or the file does not exist yet. */
export function adminSecretOf({
  adminSecretFile: file,
}: DeploySettings): Result<string | null, OperatorFault> {
  if (file === undefined || !existsSync(file)) return success(null);
  const read = readSecret(file, "the admin secret");
  if (!read.ok) return read;
  // The admin secret must fit into a header, because asking /readyz sends it in one.
  const word = secretText(read.value, `the admin secret's file ${file}`);
  return word.ok ? word : fault("usage", word.error);
}

/** Writes a new secret to its file and returns it. Never replaces a file: a backup may need its keys. */
function kept(value: string, file: string | undefined): Result<string, OperatorFault> {
  if (file === undefined) return success(value);
  const written = writeNewPrivate(file, `${value}\n`);
  if (!written.ok) return fault("failed", written.error);
  return written.value
    ? success(value)
    : fault("usage", `${file} is there already, and is not replaced: deploy again to take what is in it`);
}

/** Reads a secret from its file. The error names the file and the remedy. */
export function readSecret(file: string, secret: string): Result<string, OperatorFault> {
  const read = readPrivate(file, `${secret}, in the file`);
  if (!read.ok) return fault("usage", read.error);
  const text = read.value?.trim() ?? "";
  if (text === "")
    return fault(
      "usage",
      `${secret} is to come from ${file}, which is ${read.value === null ? "not there" : "empty"}: write it there`,
    );
  return success(text);
}

async function createToken(
  settings: DeploySettings,
  kubectl: Kubectl,
): Promise<Result<string, OperatorFault>> {
  const printed = await kubectl(tokenCommand(settings));
  const token = printed.ok ? printed.value.trim() : "";
  if (token !== "") return success(token);
  const why = printed.ok ? "kubectl printed no token" : printed.error;
  return failure({
    reason: "failed",
    message:
      `KUBE_TOKEN cannot be created: ${why}\n  → let kubectl reach the cluster (kubeContext:), apply infra/rbac/rollcall.yaml, ` +
      "or write the token into a file and name that in secretFiles: KUBE_TOKEN",
  });
}
