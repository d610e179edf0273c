/** Sockets to the server: plain ones read into one buffer that all share, so that a read allocates nothing. */
import { connect, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import type { LoadPlan } from "../plan.ts";

const shared = Buffer.allocUnsafe(262_144);

/** @param hear gets bytes that are its own only until it returns */
export function reach({ host, port, secure }: LoadPlan, hear: (bytes: Uint8Array) => void): Socket {
  if (secure) {
    const socket = connectSecurely({ host, port, servername: host, ALPNProtocols: ["http/1.1"] });
    socket.setNoDelay(true);
    return socket.on("data", hear);
  }
  const callback = (size: number): boolean => {
    hear(shared.subarray(0, size));
    return true;
  };
  return connect({ host, port, noDelay: true, onread: { buffer: shared, callback } });
}
