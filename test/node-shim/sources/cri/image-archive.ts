// Makes images that containerd can import, without a registry. Each has one layer with one file.
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

export interface TestImage {
  /** The names of the image. A name that ends with "@" gets the image's digest appended. */
  names: string[];
  content: string;
}

const digest = (bytes: Buffer) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** Returns an OCI image layout as a tar (image-spec, image-layout.md). */
export function imageArchive(images: readonly TestImage[]): Buffer {
  const blobs = new Map<string, Buffer>();
  const blob = (bytes: Buffer, type: string) => {
    blobs.set(digest(bytes), bytes);
    return { mediaType: `application/vnd.oci.image.${type}`, digest: digest(bytes), size: bytes.length };
  };
  const manifests = images.flatMap(({ names, content }) => {
    const layer = fileTar([["hello", Buffer.from(content)]]);
    const config = json({
      architecture: "amd64",
      os: "linux",
      config: {},
      rootfs: { type: "layers", diff_ids: [digest(layer)] },
    });
    const manifest = json({
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      config: blob(config, "config.v1+json"),
      layers: [blob(gzipSync(layer), "layer.v1.tar+gzip")],
    });
    const described = blob(manifest, "manifest.v1+json");
    return names.map((name) => ({
      ...described,
      annotations: { "io.containerd.image.name": name.endsWith("@") ? name + described.digest : name },
    }));
  });
  return fileTar([
    ["oci-layout", json({ imageLayoutVersion: "1.0.0" })],
    ["index.json", json({ schemaVersion: 2, manifests })],
    ...[...blobs].map(([name, bytes]): [string, Buffer] => [`blobs/${name.replace(":", "/")}`, bytes]),
  ]);
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value));

/**
 * Returns a tar in the ustar format: for each file a header of 512 bytes and its content in blocks of 512, then two
 * empty blocks.
 */
export function fileTar(files: [name: string, content: Buffer][]): Buffer {
  const blocks = files.flatMap(([name, content]) => {
    const header = Buffer.alloc(512);
    header.write(name, 0);
    header.write("0000644\0", 100);
    header.write("0000000\0", 108);
    header.write("0000000\0", 116);
    header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
    header.write("00000000000\0", 136);
    header.write("        ", 148);
    header.write("0", 156);
    header.write("ustar\u000000", 257);
    const sum = header.reduce((sum, byte) => sum + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    return [header, content, Buffer.alloc((512 - (content.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}
