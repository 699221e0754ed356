// An admission webhook that answers only when a test allows it. Until then the requests keep their seats in the
// apiserver, however fast the computer is. Contains no test.
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { generate } from "selfsigned";

export interface HeldRequests {
  url: string;
  /** The certificate authority in base64, for `clientConfig.caBundle`. */
  caBundle: string;
  /** Resolves when the first request waits in the webhook. */
  asked: Promise<void>;
  /** Answers all waiting requests with "allowed", and later requests at once. */
  release: () => void;
  close: () => void;
}

export async function heldRequests(): Promise<HeldRequests> {
  const { cert, private: key } = await generate([{ name: "commonName", value: "127.0.0.1" }], {
    keyType: "ec",
    curve: "P-256",
    algorithm: "sha256",
    extensions: [{ name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] }],
  });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: asked, resolve: noteAsked } = Promise.withResolvers<void>();
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { apiVersion, kind, ...review } = JSON.parse(await text(request)) as Review;
    noteAsked();
    await released;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ apiVersion, kind, response: { uid: review.request.uid, allowed: true } }));
  };
  const server = createServer({ cert, key }, (request, response) => void answer(request, response));
  await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    release();
    server.close();
    server.closeAllConnections();
  };
  return {
    url: `https://127.0.0.1:${port}/`,
    caBundle: Buffer.from(cert).toString("base64"),
    asked,
    release,
    close,
  };
}

/** The parts of an AdmissionReview that the webhook's answer repeats. */
interface Review {
  apiVersion: string;
  kind: string;
  request: { uid: string };
}
