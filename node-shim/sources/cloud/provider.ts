// --cloud-provider and --cloud-metadata-file: which metadata the machine has, if any. Reads none of it.
import { monotonicMs } from "../../base/clock.ts";
import { CLOUD_PROVIDERS, type CloudProvider } from "../../../shared/protocol/settings.ts";
import type { Warn } from "../../base/warn.ts";
import { awsSource } from "./aws.ts";
import { azureSource } from "./azure.ts";
import { fileSource } from "./file.ts";
import { gceSource } from "./gce.ts";
import { cloudMetadata, type CloudSource } from "./metadata.ts";
import { LINK_LOCAL_URL } from "./metadata-server.ts";

export interface CloudFlags {
  /** --cloud-provider NAME */
  cloudProvider?: string;
  /** --cloud-metadata-file FILE */
  cloudMetadataFile?: string;
}

/** What one reading may take. On its link a server answers in milliseconds. */
const DEADLINE_MS = 2000;

const SOURCES: Record<Exclude<CloudProvider, "external">, (file: string) => CloudSource> = {
  aws: () => awsSource(LINK_LOCAL_URL),
  gce: () => gceSource(LINK_LOCAL_URL),
  azure: () => azureSource(LINK_LOCAL_URL),
  file: fileSource,
};

/** The provider that is named; "" names none, as it does for a kubelet. Throws with what to change. */
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

/** Reads the metadata of the provider that is named; null: there is none to read. Throws as cloudProviderOf does. */
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
