// Chooses the source of the machine's metadata by --cloud-provider and --cloud-metadata-file.
import { readFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { parse as parseYaml } from "yaml";
import { CLOUD_PROVIDERS, type CloudProvider } from "../../../shared/protocol/settings.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { monotonicMs } from "../../base/clock.ts";
import { codeOf, faultOf } from "../../base/fault.ts";
import { withTrustedFile } from "../../base/ownership.ts";
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

/** Returns the provider; null if none or "", as for a kubelet. Throws, with the flag to change, for invalid flags. */
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

/** Returns the provider's metadata reader; null if none. Throws, with the flag to change, for invalid flags. */
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

/** Reads a YAML or JSON file, for clouds without a metadata server. A missing provider ID or instance type is "". */
export function fileSource(path: string): CloudSource {
  return async () => {
    // A file system that hangs holds a thread here, and not the shim.
    await stat(path).catch(() => undefined);
    const text = readSmallFile(path);
    if (!text.ok) return text;
    try {
      const document: unknown = parseYaml(text.value, { logLevel: "error" });
      if (typeof document !== "object" || document === null || Array.isArray(document))
        return failure("holds no fields such as providerID, instanceType, zone, region, addresses");
      return success({ providerID: "", instanceType: "", ...document });
    } catch (error) {
      const isSeveral = (error as { code?: string }).code === "MULTIPLE_DOCS";
      return failure(
        isSeveral ? "several documents: keep one, without --- at the end" : `not YAML: ${faultOf(error)}`,
      );
    }
  };
}

function readSmallFile(path: string): Result<string> {
  try {
    const read = withTrustedFile(path, (descriptor, stats): Result<string> => {
      // Reading a device or pipe may never end.
      if (!stats.isFile()) return failure("not a file");
      if (stats.size > MAX_FILE_BYTES) return failure(`larger than ${MAX_FILE_BYTES} bytes`);
      return success(readFileSync(descriptor, "utf8"));
    });
    return read.ok ? read.value : failure(`not trusted: ${read.error}`);
  } catch (error) {
    return failure(`cannot be read (${codeOf(error)})`);
  }
}
