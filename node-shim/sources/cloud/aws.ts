// Reads EC2's instance metadata, version 2, which requires a token. Uses neither AWS's API nor credentials.
import type { CloudMetadata } from "../../../shared/protocol/facts.ts";
import { addressesOf, type CloudAddress, type CloudSource } from "./metadata.ts";
import { bodyOf, metadataServer, optionalBodyOf, required, asResult } from "./metadata-server.ts";

const TOKEN_PATH = "/latest/api/token";
const METADATA = "/latest/meta-data/";
/** The lifetime of a token: EC2's maximum. After a longer stop, an instance gets a 401 and requests another token. */
const TOKEN_TTL_SECONDS = 21_600;

/** Reads a path of the metadata; with "optional", a missing path is "". Throws an error that `asResult` catches. */
type Get = (path: string, wish?: "optional") => Promise<string>;

/** Returns the source of EC2's metadata. Must be called once in a process, since the source keeps its token. */
export function awsSource(baseUrl: string): CloudSource {
  let token = "";
  return (signal) => {
    const ask = metadataServer(baseUrl, signal);
    const renewToken = async () => {
      const headers = { "x-aws-ec2-metadata-token-ttl-seconds": `${TOKEN_TTL_SECONDS}` };
      token = required(bodyOf(TOKEN_PATH, await ask(TOKEN_PATH, { method: "PUT", headers })));
    };
    const get: Get = async (name, wish) => {
      const path = METADATA + name;
      const askOnce = () => ask(path, { headers: { "x-aws-ec2-metadata-token": token } });
      if (token === "") await renewToken();
      let answer = await askOnce();
      if (answer.ok && answer.value.status === 401) {
        await renewToken();
        answer = await askOnce();
      }
      return required(wish === "optional" ? optionalBodyOf(path, answer) : bodyOf(path, answer));
    };
    return asResult(() => read(get));
  };
}

async function read(get: Get): Promise<CloudMetadata> {
  const [id, zone] = [await get("instance-id"), await get("placement/availability-zone")];
  return {
    providerID: `aws:///${zone}/${id}`,
    instanceType: await get("instance-type"),
    zone,
    // Older metadata servers do not have placement/region.
    region: (await get("placement/region", "optional")) || regionOf(zone),
    addresses: await addresses(get),
  };
}

/** Returns the region of a zone such as `eu-central-1a`, or of a local zone such as `us-west-2-lax-1a`. */
function regionOf(zone: string): string {
  return /^[a-z]+(-[a-z]+)+-\d+/.exec(zone)?.[0] ?? "";
}

/** Returns the addresses in the order of aws.go's NodeAddresses: each interface's IPv6 after its IPv4 addresses. */
async function addresses(get: Get): Promise<CloudAddress[]> {
  const found: CloudAddress[] = [];
  const add = (type: CloudAddress["type"], texts: string[]) => found.push(...addressesOf(type, texts));
  for (const mac of await interfaces(get)) {
    add("InternalIP", words(await get(`${mac}local-ipv4s`, "optional")));
    add("InternalIP", words(await get(`${mac}ipv6s`, "optional")));
  }
  add("ExternalIP", words(await get("public-ipv4", "optional")));
  const [hostname, ...domains] = words(await get("local-hostname", "optional"));
  if (hostname !== undefined) {
    const label = hostname.split(".", 1).join("");
    add("Hostname", [hostname]);
    // Each domain in the DHCP options gives the instance another name.
    add("InternalDNS", [hostname, ...domains.map((domain) => `${label}.${domain}`)]);
  }
  add("ExternalDNS", words(await get("public-hostname", "optional")));
  return found;
}

/** Returns the paths of the network interfaces, in the order of their numbers. */
async function interfaces(get: Get): Promise<string[]> {
  const folder = "network/interfaces/macs/";
  const numbered: [number, string][] = [];
  for (const mac of words(await get(folder))) {
    const path = `${folder}${mac.replace(/\/$/, "")}/`;
    numbered.push([Number(await get(`${path}device-number`, "optional")), path]);
  }
  return numbered.sort(([a], [b]) => a - b).map(([, path]) => path);
}

const words = (text: string) => text.split(/\s+/).filter((word) => word !== "");
