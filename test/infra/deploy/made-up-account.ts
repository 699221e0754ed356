// Keeps a made-up Cloudflare account: its Workers with their versions, and Cloudflare's refusals. The made-up API
// and the played wrangler change the account only by these functions. No Worker runs: `deployed` is the version
// that would run.
import { randomUUID } from "node:crypto";

export interface UploadedBinding {
  type: string;
  name: string;
  text?: string;
  json?: unknown;
}

export interface Upload {
  bindings: UploadedBinding[];
  annotations: Record<string, string>;
  /** The last migration in the upload; undefined if there is none. */
  migrationTag: string | undefined;
  /** The types of the bindings that stay if the upload does not name them. */
  kept: readonly string[];
}

export interface MadeUpVersion {
  id: string;
  number: number;
  bindings: UploadedBinding[];
  annotations: Record<string, string>;
  migrationTag: string | undefined;
}

export interface MadeUpWorker {
  versions: MadeUpVersion[];
  deployed: MadeUpVersion;
  hostnames: string[];
}

/** A refusal of Cloudflare, in the words of its API. */
export interface Refusal {
  status: number;
  code: number;
  message: string;
}

export interface MadeUpAccount {
  account: string;
  token: string;
  workers: Map<string, MadeUpWorker>;
  /** The refusal that answers every upload; null if uploads are accepted. */
  refusal: Refusal | null;
}

const NO_SUCH_WORKER = { status: 404, code: 10007, message: "This Worker does not exist on your account." };
const NO_SUCH_PATH = {
  status: 404,
  code: 7003,
  message: "Could not route to this path, perhaps your object identifier is invalid?",
};
const BAD_TOKEN = { status: 403, code: 10000, message: "Authentication error" };
/**
 * The refusal of a rollback over a migration. The rule is from
 * https://developers.cloudflare.com/workers/versions-and-deployments/rollbacks/; code and message are made up.
 */
const OVER_MIGRATION = {
  status: 400,
  code: 10999,
  message: "A Durable Object migration has occurred since that version.",
};

export class Refused extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

export const noSuchPath = (): Refused => new Refused(NO_SUCH_PATH);

export function madeUpAccount(): MadeUpAccount {
  return {
    account: "0123456789abcdef0123456789abcdef",
    token: "made-up-api-token",
    workers: new Map(),
    refusal: null,
  };
}

/** Returns a copy of the account. A later change of the original does not change the copy. */
export function copyOf(place: MadeUpAccount): MadeUpAccount {
  return { ...place, workers: structuredClone(place.workers) };
}

/** Returns the text of a secret or variable of the deployed version. */
export function bindingOf({ workers }: MadeUpAccount, worker: string, name: string): string | undefined {
  return workers.get(worker)?.deployed.bindings.find((each) => each.name === name)?.text;
}

/** Throws if the caller names another account, or if the token is wrong. */
export function checkCaller(place: MadeUpAccount, account: string | undefined, token: string): void {
  if (token !== place.token) throw new Refused(BAD_TOKEN);
  if (account !== place.account) throw noSuchPath();
}

/** Returns the Worker with this name. Throws if there is none. */
export function workerOf({ workers }: MadeUpAccount, name: string): MadeUpWorker {
  const worker = workers.get(name);
  if (!worker) throw new Refused(NO_SUCH_WORKER);
  return worker;
}

/** Uploads a version. If `deploys` is true, the version becomes active at once, as with `wrangler deploy`. */
export function upload(
  place: MadeUpAccount,
  name: string,
  uploaded: Upload,
  deploys: boolean,
): MadeUpVersion {
  if (place.refusal !== null) throw new Refused(place.refusal);
  const worker = place.workers.get(name);
  const before = worker?.versions.at(-1);
  const version = {
    id: randomUUID(),
    number: (before?.number ?? 0) + 1,
    bindings: bindingsOf(uploaded, worker?.deployed),
    annotations: uploaded.annotations,
    migrationTag: uploaded.migrationTag ?? before?.migrationTag,
  };
  if (worker) worker.versions.push(version);
  else place.workers.set(name, { versions: [version], deployed: version, hostnames: [] });
  if (deploys && worker) worker.deployed = version;
  return version;
}

export function deployAgain(worker: MadeUpWorker, id: string | undefined): void {
  const next = worker.versions.find((version) => version.id === id);
  if (!next) throw noSuchPath();
  if (next.migrationTag !== worker.deployed.migrationTag) throw new Refused(OVER_MIGRATION);
  worker.deployed = next;
}

/**
 * Returns the bindings of a new version. Inherited bindings come from the deployed version, and so do secrets that
 * the upload does not name.
 */
function bindingsOf({ bindings, kept }: Upload, before: MadeUpVersion | undefined): UploadedBinding[] {
  const had = before?.bindings ?? [];
  const named = new Set(bindings.map(({ name }) => name));
  const own = bindings.map((binding) => {
    if (binding.type !== "inherit") return binding;
    const found = had.find(({ name }) => name === binding.name);
    const message = `inherit binding '${binding.name}' is invalid: it does not exist on the previous version`;
    if (!found) throw new Refused({ status: 400, code: 10057, message });
    return found;
  });
  return [...own, ...had.filter(({ name, type }) => kept.includes(type) && !named.has(name))];
}

export const deploymentOf = ({ id }: MadeUpVersion) => ({
  id,
  source: "wrangler",
  strategy: "percentage",
  author_email: "somebody@example.com",
  created_on: "2026-01-01T00:00:00Z",
  annotations: {},
  versions: [{ version_id: id, percentage: 100 }],
});

/** Returns a version as Cloudflare's API does, without the texts of secrets. */
export const versionDetail = ({ id, number, bindings, annotations, migrationTag }: MadeUpVersion) => ({
  id,
  number,
  metadata: { created_on: "2026-01-01T00:00:00Z", modified_on: "2026-01-01T00:00:00Z", source: "wrangler" },
  annotations,
  resources: {
    bindings: bindings.map((binding) =>
      binding.type === "secret_text" ? { type: binding.type, name: binding.name } : binding,
    ),
    script: { etag: "e", handlers: ["fetch"] },
    script_runtime: {
      compatibility_date: "2026-10-30",
      usage_model: "standard",
      migration_tag: migrationTag,
    },
  },
  startup_time_ms: 10,
});

/** Adds Workers to the account, each with one version, as if earlier deployments had made them. */
export function addWorkers({ workers }: MadeUpAccount, names: readonly string[]): void {
  for (const name of names) {
    const version = {
      id: randomUUID(),
      number: 1,
      bindings: [{ type: "secret_text", name: "KID_MAC_KEYS" }],
      annotations: {},
      migrationTag: "v5",
    };
    workers.set(name, { versions: [version], deployed: version, hostnames: [] });
  }
}
