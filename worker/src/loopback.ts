/** The machine itself, by every name that it has in a URL. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Whether nobody on the way can read what is sent there: by https, or by http to the machine itself. */
export function isPrivate({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && LOOPBACK.test(hostname));
}
