// Makes the certificates with which an apiserver proves itself to the servers of aggregated APIs, as kubeadm does.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generate } from "selfsigned";

const EC = { keyType: "ec", curve: "P-256", algorithm: "sha256" } as const;

export interface ClientCertificate {
  cert: string;
  key: string;
}

export interface FrontProxy {
  /** The flags of kube-apiserver. */
  flags: string[];
  /** Returns a client certificate of the same authority, with this common name. */
  certificateFor: (name: string) => Promise<ClientCertificate>;
}

/** Makes an authority, and the certificate of the apiserver in the folder. */
export async function makeFrontProxy(folder: string): Promise<FrontProxy> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const authority = await makeAuthority();
  const apiserver = await authority.certificateFor("front-proxy-client");
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  return {
    flags: [
      `--requestheader-client-ca-file=${write("ca.crt", authority.cert)}`,
      "--requestheader-allowed-names=front-proxy-client",
      "--requestheader-username-headers=X-Remote-User",
      "--requestheader-group-headers=X-Remote-Group",
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
      `--proxy-client-cert-file=${write("client.crt", apiserver.cert)}`,
      `--proxy-client-key-file=${write("client.key", apiserver.key)}`,
    ],
    certificateFor: authority.certificateFor,
  };
}

/** Makes an authority of client certificates. */
export async function makeAuthority() {
  const authority = await generate([{ name: "commonName", value: "front-proxy-ca" }], {
    ...EC,
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, digitalSignature: true, critical: true },
    ],
  });
  const certificateFor = async (name: string): Promise<ClientCertificate> => {
    const made = await generate([{ name: "commonName", value: name }], {
      ...EC,
      ca: { key: authority.private, cert: authority.cert },
      extensions: [
        { name: "keyUsage", digitalSignature: true, critical: true },
        { name: "extKeyUsage", clientAuth: true },
      ],
    });
    return { cert: made.cert, key: made.private };
  };
  return { cert: authority.cert, certificateFor };
}
