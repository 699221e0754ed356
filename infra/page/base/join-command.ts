// The command with which a machine joins, as an operator copies it. Pure.

/** `token`: without one a file is named. It goes through a pipe: no process list shows it. */
export function joinCommand(origin: string, token?: string): string {
  const join = `node-shim join --url ${origin} --join-token-file`;
  return token === undefined
    ? `${join} /root/join-token --install-service`
    : `printf %s '${token}' | ${join} - --install-service`;
}
