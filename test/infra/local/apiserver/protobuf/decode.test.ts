// Protobuf bodies as client-go writes them (bodies.json, base64), beside the JSON that it writes of the same objects.
import { describe, expect, test } from "vitest";
import { decodeObject } from "../../../../../infra/local/apiserver/kinds/decode.ts";
import { compileStruct } from "../../../../../infra/local/apiserver/kinds/go-type.ts";
import { goTypeOf } from "../../../../../infra/local/apiserver/kinds/go-types.ts";
import { metaTypes } from "../../../../../infra/local/apiserver/kinds/meta-types.ts";
import { embeddedServer } from "../test-server.ts";
import bodies from "../../../../../infra/local/apiserver/protobuf/bodies.json" with { type: "json" };
import { decodeProtobuf } from "../../../../../infra/local/apiserver/protobuf/decode.ts";

function bytesOf(base64: string): Uint8Array {
  return Buffer.from(base64, "base64");
}

function typeOf(apiVersion: string, kind: string) {
  if (kind === "DeleteOptions") return compileStruct("v1.DeleteOptions", metaTypes);
  const [group = ""] = apiVersion.includes("/") ? apiVersion.split("/") : [""];
  return goTypeOf({ group, kind });
}

test.each(bodies.map(({ body, object }) => ({ body, object, what: `${object.apiVersion} ${object.kind}` })))(
  "$what → the same object",
  ({ body, object }) => {
    const decoded = decodeProtobuf(bytesOf(body)) ?? {};
    const { apiVersion, kind, ...fields } = object;
    const written = decodeObject(decoded, typeOf(apiVersion, kind));
    expect(written).toMatchObject({ strict: [] });
    expect("object" in written ? written.object : written).toEqual({ apiVersion, kind, ...fields });
  },
);

const [namespace] = bodies;

describe("bodies that are none → 400, and nothing happens", () => {
  const whole = bytesOf(namespace?.body ?? "");
  const ofPod = Buffer.from("k8s\0\n\u000b\n\u0002v1\u0012\u0005Thing\u0012\0", "latin1");
  test.each<[string, Uint8Array]>([
    ["no prefix", whole.subarray(4)],
    ["cut off", whole.subarray(0, whole.length - 40)],
    ["no type", bytesOf("azhzAA==")],
    ["a kind without numbers", ofPod],
    ["JSON", Buffer.from("{}")],
  ])("%s", async (_, bytes) => {
    const server = embeddedServer();
    const before = server.store.revision();
    const response = await server.fetch(
      new Request(`${server.url}/api/v1/namespaces`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${server.token}`,
          "content-type": "application/vnd.kubernetes.protobuf",
        },
        body: Buffer.from(bytes),
      }),
    );
    expect(response.status).toBe(400);
    expect(server.store.revision()).toBe(before);
    server.close();
  });
});
