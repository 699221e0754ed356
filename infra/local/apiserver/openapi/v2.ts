// OpenAPI v2 for kubectl, which looks into it when it is given a List: a document without definitions, so that all
// checking is left to the server. As JSON, and as the one protobuf message that clients ask for.

const swagger = "2.0";
const info = { title: "Kubernetes", version: "v1.36.3" };

/** The media type of gnostic's openapi_v2.Document. */
const protobufType = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/** A field of text or of a message; all of these are shorter than 128 bytes, whose length is one byte. */
function field(number: number, content: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.of((number << 3) | 2, content.length), content]);
}

function text(number: number, value: string): Uint8Array {
  return field(number, Buffer.from(value));
}

export function openApiV2(accept: string): { body: Uint8Array; contentType: string } {
  if (!accept.includes(protobufType)) {
    const body = Buffer.from(JSON.stringify({ swagger, info, paths: {}, definitions: {} }));
    return { body, contentType: "application/json" };
  }
  const infoMessage = Buffer.concat([text(1, info.title), text(2, info.version)]);
  return {
    body: Buffer.concat([text(1, swagger), field(2, infoMessage)]),
    contentType: protobufType.replace("@", "."),
  };
}
