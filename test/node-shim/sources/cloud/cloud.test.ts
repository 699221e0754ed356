// Tests the provider ID, instance type, zone, region and addresses that come from each cloud's metadata server, and
// servers that misbehave.
import { type Failure, failure, success } from "../../../../shared/result.ts";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it, test } from "vitest";
import { awsSource } from "../../../../node-shim/sources/cloud/aws.ts";
import { azureSource } from "../../../../node-shim/sources/cloud/azure.ts";
import { fileSource } from "../../../../node-shim/sources/cloud/provider.ts";
import { gceSource } from "../../../../node-shim/sources/cloud/gce.ts";
import type { CloudSource } from "../../../../node-shim/sources/cloud/metadata.ts";
import { cloudSchema } from "../../../../shared/protocol/facts.ts";
import { temporaryFolder } from "../../base/temporary-folder.ts";
import { azure, ec2, google, reply, serve } from "./server.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());

const never = new AbortController().signal;
const read = (source: CloudSource) => source(never);
const MACS = "network/interfaces/macs/";

const EC2 = {
  "instance-id": "i-0123456789abcdef0",
  "instance-type": "m6g.large",
  "placement/availability-zone": "eu-west-1a",
  "placement/region": "eu-west-1",
  [MACS]: "0a:00:00:00:00:02/\n0a:00:00:00:00:01/",
  [`${MACS}0a:00:00:00:00:01/device-number`]: "0",
  [`${MACS}0a:00:00:00:00:01/local-ipv4s`]: "10.0.0.5\n10.0.0.6",
  [`${MACS}0a:00:00:00:00:01/ipv6s`]: "2001:db8::5",
  [`${MACS}0a:00:00:00:00:02/device-number`]: "1",
  [`${MACS}0a:00:00:00:00:02/local-ipv4s`]: "10.0.1.7",
  "public-ipv4": "203.0.113.9",
  "local-hostname": "ip-10-0-0-5.eu-west-1.compute.internal shop.example",
  "public-hostname": "ec2-203-0-113-9.eu-west-1.compute.amazonaws.com",
};

describe("EC2", () => {
  it("an instance with two interfaces → the values of the kubelet's provider, in device order", async () => {
    const { url } = await ec2(EC2);
    expect(await read(awsSource(url))).toEqual(
      success({
        providerID: "aws:///eu-west-1a/i-0123456789abcdef0",
        instanceType: "m6g.large",
        zone: "eu-west-1a",
        region: "eu-west-1",
        addresses: [
          { type: "InternalIP", address: "10.0.0.5" },
          { type: "InternalIP", address: "10.0.0.6" },
          { type: "InternalIP", address: "2001:db8::5" },
          { type: "InternalIP", address: "10.0.1.7" },
          { type: "ExternalIP", address: "203.0.113.9" },
          { type: "Hostname", address: "ip-10-0-0-5.eu-west-1.compute.internal" },
          { type: "InternalDNS", address: "ip-10-0-0-5.eu-west-1.compute.internal" },
          { type: "InternalDNS", address: "ip-10-0-0-5.shop.example" },
          { type: "ExternalDNS", address: "ec2-203-0-113-9.eu-west-1.compute.amazonaws.com" },
        ],
      }),
    );
  });

  it.each([
    ["eu-central-1b", "eu-central-1"],
    ["us-west-2-lax-1a", "us-west-2"],
    ["us-gov-east-1a", "us-gov-east-1"],
  ])("a server without a region, zone %s → region %s", async (zone, region) => {
    const { "placement/region": _region, "public-ipv4": _public, ...older } = EC2;
    const { url } = await ec2({ ...older, "placement/availability-zone": zone });
    expect(await read(awsSource(url))).toMatchObject(success({ zone, region }));
  });

  it("a token is requested once, and again when it is refused", async () => {
    const { url, asked, forgetTokens } = await ec2(EC2);
    const source = awsSource(url);
    const tokens = () => asked.filter((path) => path === "PUT /latest/api/token").length;
    await read(source);
    await read(source);
    expect(tokens()).toBe(1);
    forgetTokens();
    expect(await read(source)).toHaveProperty("value");
    expect(tokens()).toBe(2);
  });

  it("metadata that are switched off (403) → an error, not an instance without a name", async () => {
    const url = await serve((_, response) => reply(response, 403, ""));
    expect(await read(awsSource(url))).toEqual(failure("GET /latest/api/token: status 403"));
  });

  it("an empty instance ID → an error that names the field, and no provider ID without it", async () => {
    const { url } = await ec2({ ...EC2, "instance-id": "\n" });
    expect(await read(awsSource(url))).toEqual(failure("GET /latest/meta-data/instance-id: an empty answer"));
  });

  it("no instance ID → an error that names the field", async () => {
    const { "instance-id": _id, ...without } = EC2;
    const { url } = await ec2(without);
    expect(await read(awsSource(url))).toEqual(failure("GET /latest/meta-data/instance-id: status 404"));
  });
});

const GOOGLE = {
  "project/project-id": "shops",
  "instance/zone": "projects/8/zones/europe-west1-b",
  "instance/name": "shop-7",
  "instance/machine-type": "projects/8/machineTypes/e2-small",
  "instance/hostname": "shop-7.europe-west1-b.c.shops.internal",
  "instance/network-interfaces/?recursive=true": [
    { ip: "10.1.0.2", mac: "42:01", accessConfigs: [{ externalIp: "203.0.113.7", type: "ONE_TO_ONE_NAT" }] },
    { ip: "10.2.0.2", accessConfigs: [{ externalIp: "", type: "ONE_TO_ONE_NAT" }] },
  ],
};

describe("Google Cloud", () => {
  it("an instance with two interfaces → the values of the kubelet's provider", async () => {
    expect(await read(gceSource(await google(GOOGLE)))).toEqual(
      success({
        providerID: "gce://shops/europe-west1-b/shop-7",
        instanceType: "e2-small",
        zone: "europe-west1-b",
        region: "europe-west1",
        addresses: [
          { type: "InternalIP", address: "10.1.0.2" },
          { type: "ExternalIP", address: "203.0.113.7" },
          { type: "InternalIP", address: "10.2.0.2" },
          { type: "InternalDNS", address: "shop-7.europe-west1-b.c.shops.internal" },
          { type: "Hostname", address: "shop-7.europe-west1-b.c.shops.internal" },
        ],
      }),
    );
  });

  it("another server answers (no Metadata-Flavor) → an error", async () => {
    const url = await serve((_, response) => reply(response, 200, "welcome to this hotel's network"));
    expect(await read(gceSource(url))).toEqual(
      failure(
        "GET /computeMetadata/v1/project/project-id: the answer is not of a metadata server of Google Cloud",
      ),
    );
  });

  it("a captive portal's page → an error that says so", async () => {
    const url = await serve((_, response) => reply(response, 200, "<!DOCTYPE html><p>Please sign in</p>"));
    expect(await read(awsSource(url))).toEqual(
      failure("GET /latest/api/token: an HTML page, such as a network's sign-in page, and no metadata"),
    );
  });

  it("interfaces that are no JSON → an error", async () => {
    const path = "instance/network-interfaces/?recursive=true";
    const url = await google({ ...GOOGLE, [path]: "0/\n" });
    expect(await read(gceSource(url))).toEqual(failure(`GET ${path}: the answer is not JSON`));
  });
});

const RESOURCE = "/subscriptions/8d10/resourceGroups/Shops-RG/providers/Microsoft.Compute";
const AZURE = {
  compute: {
    name: "shop-7",
    resourceId: `${RESOURCE}/virtualMachines/shop-7`,
    vmSize: "Standard_B2s",
    location: "WestEurope",
    zone: "1",
    platformFaultDomain: "0",
    osProfile: { adminUsername: "azureuser", computerName: "Shop-7" },
  },
  network: {
    interface: [
      {
        ipv4: {
          ipAddress: [{ privateIpAddress: "10.1.2.5", publicIpAddress: "203.0.113.5" }],
          subnet: [{ address: "10.1.2.0", prefix: "24" }],
        },
        ipv6: { ipAddress: [{ privateIpAddress: "2001:db8::7" }] },
        macAddress: "002248",
      },
      { ipv4: { ipAddress: [{ privateIpAddress: "10.9.9.9", publicIpAddress: "" }] }, ipv6: {} },
    ],
  },
};

describe("Azure", () => {
  it("a machine in a zone → the values of the kubelet's provider: the group in lower case, one interface", async () => {
    expect(await read(azureSource(await azure(AZURE)))).toEqual(
      success({
        providerID:
          "azure:///subscriptions/8d10/resourceGroups/shops-rg/providers/Microsoft.Compute/virtualMachines/shop-7",
        instanceType: "Standard_B2s",
        zone: "westeurope-1",
        region: "westeurope",
        addresses: [
          { type: "Hostname", address: "shop-7" },
          { type: "InternalIP", address: "10.1.2.5" },
          { type: "ExternalIP", address: "203.0.113.5" },
          { type: "InternalIP", address: "2001:db8::7" },
        ],
      }),
    );
  });

  it("a machine of a scale set, without zones → its instance, and its fault domain", async () => {
    const resourceId = `${RESOURCE}/virtualMachineScaleSets/Pool/virtualMachines/3`;
    const url = await azure({ ...AZURE, compute: { ...AZURE.compute, zone: "", resourceId } });
    expect(await read(azureSource(url))).toMatchObject(
      success({
        providerID:
          "azure:///subscriptions/8d10/resourceGroups/shops-rg/providers/Microsoft.Compute/virtualMachineScaleSets/Pool/virtualMachines/3",
        zone: "0",
      }),
    );
  });

  it("a document without compute → an error that names it", async () => {
    const url = await azure({ network: AZURE.network });
    const { error } = (await read(azureSource(url))) as Failure<string>;
    expect(error).toMatch(/^GET \/metadata\/instance\S+: \/compute: /);
  });

  it("no address → an error, like the kubelet's", async () => {
    const network = { interface: [{ ipv4: {}, ipv6: {} }] };
    const { error } = (await read(azureSource(await azure({ ...AZURE, network })))) as Failure<string>;
    expect(error).toMatch(/holds no IP address/);
  });
});

const SOURCES = { aws: awsSource, gce: gceSource, azure: azureSource };
const elsewhere = () => serve((_, response) => reply(response, 200, "{}", { "metadata-flavor": "Google" }));

describe.each(Object.entries(SOURCES))("%s: a server that misbehaves", (_, source) => {
  test.each<[situation: string, answer: (url: string) => Parameters<typeof serve>[0], error: RegExp]>([
    [
      "sends elsewhere",
      (url) => (_, r) => reply(r, 302, "", { location: url, "metadata-flavor": "Google" }),
      /status 302/,
    ],
    ["is broken", () => (_, r) => reply(r, 500, "", { "metadata-flavor": "Google" }), /status 500/],
    [
      "does not know the path",
      () => (_, r) => reply(r, 404, "", { "metadata-flavor": "Google" }),
      /status 404/,
    ],
    ["sends a flood", () => (_, r) => reply(r, 200, "x".repeat(65_537)), /larger than any answer/],
    [
      "ends in the middle",
      () => (_, r) => void r.writeHead(200, { "content-length": "9" }).write("x", () => r.destroy()),
      /aborted/,
    ],
    ["hangs up", () => (_, r) => void r.destroy(), /socket hang up/],
  ])("%s → an error with that reason, and no other server is asked", async (_, answer, error) => {
    let asked = 0;
    const other = await elsewhere();
    const url = await serve((request, response) => {
      asked++;
      answer(other)(request, response);
    });
    expect(((await read(source(url))) as Failure<string>).error).toMatch(error);
    expect(asked).toBe(1);
  });

  it("never answers → ends when the caller gives up", async () => {
    const giveUp = new AbortController();
    const url = await serve(() => giveUp.abort());
    expect(((await source(url)(giveUp.signal)) as Failure<string>).error).toMatch(/no answer in time/);
  });
});

describe("a file", () => {
  const file = (text: string) => {
    const path = join(folder.path, "cloud.yaml");
    writeFileSync(path, text);
    return path;
  };

  it("YAML → its fields, and none that it leaves out", async () => {
    const path = file("zone: shop\naddresses:\n  - {type: ExternalIP, address: 203.0.113.1}\n");
    const value = {
      providerID: "",
      instanceType: "",
      zone: "shop",
      addresses: [{ type: "ExternalIP", address: "203.0.113.1" }],
    };
    expect(await read(fileSource(path))).toEqual(success(value));
    expect(cloudSchema.safeParse(value).success).toBe(true);
  });

  it("is read again each time", async () => {
    const path = file("zone: a");
    const source = fileSource(path);
    expect(await read(source)).toMatchObject(success({ zone: "a" }));
    file("zone: b");
    expect(await read(source)).toMatchObject(success({ zone: "b" }));
  });

  mkdirSync(join(folder.path, "folder"));
  it.each([
    ["is not there", () => join(folder.path, "none"), /cannot be read \(ENOENT\)/],
    ["is a folder", () => join(folder.path, "folder"), /not a file/],
    ["is too large", () => file("#".repeat(65_537)), /larger than/],
    ["is no map", () => file("- zone"), /holds no fields such as/],
    ["is not YAML", () => file("a: [\n"), /not YAML/],
    ["ends in ---", () => file("zone: a\n---\n"), /^several documents: keep one/],
  ])("%s → an error with that reason", async (_, path, error) => {
    expect(((await read(fileSource(path()))) as Failure<string>).error).toMatch(error);
  });
});
