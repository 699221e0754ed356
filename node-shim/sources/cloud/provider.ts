// Chooses the source of the machine's metadata by --cloud-provider and --cloud-metadata-file.
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { parse as parseYaml } from "yaml";
import { CLOUD_PROVIDERS, type CloudProvider } from "../../../shared/protocol/settings.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { monotonicMs } from "../../base/clock.ts";
import { codeOf, faultOf } from "../../base/fault.ts";
import type { Warn } from "../../base/reading.ts";
import { awsSource } from "./aws.ts";
import { azureSource } from "./azure.ts";
import { gceSource } from "./gce.ts";
import { LINK_LOCAL_URL } from "./metadata-server.ts";
import { cloudMetadata, type CloudSource } from "./metadata.ts";

export interface CloudFlags {
  cloudProvider?: string;
  cloudMetadataFile?: string;
}

/** The time limit of one reading. A server on the machine's own link answers in milliseconds. */
const DEADLINE_MS = 2000;

const SOURCES: Record<Exclude<CloudProvider, "external">, (file: string) => CloudSource> = {
  aws: () => awsSource(LINK_LOCAL_URL),
  gce: () => gceSource(LINK_LOCAL_URL),
  azure: () => azureSource(LINK_LOCAL_URL),
  file: fileSource,
};

/**
 * Returns the provider; null if the flags name none. "" names none, as for a kubelet. Throws, with the flag to
 * change, for invalid flags.
 */
export function cloudProviderOf({ cloudProvider = "", cloudMetadataFile }: CloudFlags): CloudProvider | null {
  const provider = CLOUD_PROVIDERS.find((name) => name === cloudProvider);
  if (cloudProvider !== "" && provider === undefined)
    throw new Error(`--cloud-provider ${cloudProvider}: must be one of ${CLOUD_PROVIDERS.join(", ")}`);
  if (provider === "file" && !cloudMetadataFile)
    throw new Error("--cloud-provider file: pass the file with --cloud-metadata-file");
  if (provider !== "file" && cloudMetadataFile !== undefined)
    throw new Error("--cloud-metadata-file: needs --cloud-provider file");
  return provider ?? null;
}

/**
 * Returns the reader of the provider's metadata; null if there is none. Throws, with the flag to change, for
 * invalid flags.
 */
export function machineCloud(flags: CloudFlags, intervalMs: number, warn: Warn) {
  const provider = cloudProviderOf(flags);
  if (provider === null || provider === "external") return null;
  const file = flags.cloudMetadataFile ?? "";
  const where = provider === "file" ? file : `${LINK_LOCAL_URL} (${provider})`;
  return {
    where,
    read: cloudMetadata({
      source: SOURCES[provider](file),
      where,
      intervalMs,
      deadlineMs: DEADLINE_MS,
      nowMs: monotonicMs,
      warn,
    }),
  };
}

const MAX_FILE_BYTES = 64 * 1024;

/**
 * Reads metadata from a YAML or JSON file, for clouds without a metadata server. A missing provider ID or instance
 * type counts as "".
 */
export function fileSource(path: string): CloudSource {
  return async () => {
    const text = await readSmallFile(path);
    if (!text.ok) return text;
    try {
      const document: unknown = parseYaml(text.value, { logLevel: "error" });
      if (typeof document !== "object" || document === null || Array.isArray(document))
        return failure("holds no fields such as providerID, instanceType, zone, region, addresses");
      return success({ providerID: "", instanceType: "", ...document });
    } catch (error) {
      return failure(`not YAML: ${faultOf(error)}`);
    }
  };
}

async function readSmallFile(path: string): Promise<Result<string>> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK); // opening a FIFO would wait for a writer
    try {
      const stat = await file.stat();
      // Reading a device or pipe may never end.
      if (!stat.isFile()) return failure("not a file");
      if (stat.size > MAX_FILE_BYTES) return failure(`larger than ${MAX_FILE_BYTES} bytes`);
      return success(await file.readFile("utf8"));
    } finally {
      await file.close();
    }
  } catch (error) {
    return failure(`cannot be read (${codeOf(error)})`);
  }
}
