// Makes the lines of the logs that both read: each rule's problem, lines that nearly match, and lines of other programs.

const KERNEL = [
  "Killed process 1012 (java) total-vm:1234kB, anon-rss:5678kB, file-rss:9kB, shmem-rss:0kB",
  "Killed process x (java) total-vm:1234kB",
  "task umount.aufs:21568 blocked for more than 120 seconds.",
  "task docker:2341 blocked for more than 120 seconds.",
  "task docker:2342 blocked for more than 120 seconds. And more",
  "unregister_netdevice: waiting for eth0 to become free. Usage count = 1",
  "BUG: unable to handle kernel NULL pointer dereference at 0000000000000008",
  "divide error: 0000 [#1] SMP",
  "divide error: 0000 [#x] SMP",
  "usb 1-1: new high-speed USB device número 2",
  "",
];
const DOCKER = [
  'level=error msg="Error trying v2 registry: failed to register layer: rename /var/lib/docker/image/a /var/lib/docker/image/b: directory not empty"',
  'level=info msg="Loading containers: done."',
];
const two = (number: number) => String(number).padStart(2, "0");

/** Returns the text of a log for one of NPD's configuration files, written at `now` by the local clock. */
export function lines(configuration: string, now: Date): string {
  const time = `${two(now.getHours())}:${two(now.getMinutes())}:${two(now.getSeconds())}`;
  if (configuration.startsWith("docker"))
    return DOCKER.map((line) => `time="${now.toISOString().replace("Z", "000000+00:00")}" ${line}\n`).join(
      "",
    );
  const month = now.toLocaleString("en", { month: "short" });
  const stamp = `${month} ${String(now.getDate()).padStart(2)} ${time}`;
  return KERNEL.flatMap((line, index) => [
    `${stamp} vm kernel: [  10.00${index}] ${line}\n`,
    `${stamp} vm cron[7]: ${line}\n`,
  ]).join("");
}
