import { type ClientContext, createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/message-port'
import { PORT_MESSAGE } from '../../src-shared/window-bridge.ts'
import { bridge } from './bridge.ts'
import type { Client } from './client.ts'

const CONNECT_LIMIT_MS = 10_000

/**
 * The next port to the host that the preload hands over as a message of this window to itself. The first comes
 * when the page has loaded; a later one is asked for by `bridge().connect()`.
 */
export function connect(limitMs: number = CONNECT_LIMIT_MS): Promise<MessagePort> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      window.removeEventListener('message', onMessage)
    }
    const timer = setTimeout(() => {
      end()
      reject(new Error(`the host gave no connection within ${Math.round(limitMs / 1_000)} s`))
    }, limitMs)
    const onMessage = (event: MessageEvent) => {
      if (event.source !== window || event.origin !== window.origin) return
      const [port] = event.ports
      if (event.data !== PORT_MESSAGE || port === undefined) return
      end()
      resolve(port)
    }
    window.addEventListener('message', onMessage)
  })
}

/**
 * A client that stays the same while its port may change: when the host closed the port, the next call asks for
 * a new one and waits for it.
 */
export function lastingClient(): Client {
  let link: Promise<RPCLink<ClientContext>> | null = linkOver(connect())

  function linkOver(port: Promise<MessagePort>): Promise<RPCLink<ClientContext>> {
    const made = port.then((given) => {
      given.addEventListener('close', lost)
      const over = new RPCLink({ port: given })
      given.start()
      return over
    })
    const lost = () => {
      if (link === made) link = null
    }
    made.catch(lost)
    return made
  }

  function reconnect(): Promise<RPCLink<ClientContext>> {
    const port = connect()
    bridge()?.connect()
    return linkOver(port)
  }

  return createORPCClient<Client>({
    call: async (path, input, options) => {
      link ??= reconnect()
      return (await link).call(path, input, options)
    },
  })
}
