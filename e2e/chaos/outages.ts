import { rename } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BlowLog } from '../blows/log.ts'
import type { Random, Weights } from '../blows/random.ts'
import type { GitRemote } from '../support/git-remote.ts'
import { makeReadOnly } from '../support/read-only-folder.ts'
import { mountSmallDisk, type SmallDisk } from '../support/small-disk.ts'

/** What goes away for a while, and comes back. */
export type Outage = 'remote away' | 'remote refuses' | 'remote read-only' | 'disk full'

const OUTAGES: Weights<Outage> = {
  'remote away': 3,
  'remote refuses': 3,
  'remote read-only': 2,
  'disk full': 3,
}

const DISK_MB = 256

/** Lets the remote and the disk of the data folder fail, one at a time, each for a moment. */
export class Outages {
  readonly #remote: GitRemote
  readonly #disk: SmallDisk | null
  /** Of room on the disk: a host may find none to start. */
  readonly shortage = { isOn: false, times: 0 }
  #turn: Promise<unknown> = Promise.resolve()
  /** Since `forget`. */
  #struck = 0

  private constructor(remote: GitRemote, disk: SmallDisk | null) {
    this.#remote = remote
    this.#disk = disk
  }

  /** Before anything is in the data folder. Where this user may not mount, its disk never fills. */
  static async over(
    remote: GitRemote,
    dataDir: string,
    atEnd: (action: () => Promise<unknown>) => void,
  ): Promise<Outages> {
    const disk = await mountSmallDisk(dataDir, DISK_MB).catch(() => null)
    if (disk !== null) atEnd(() => disk.remove())
    return new Outages(remote, disk)
  }

  /** Whether something was away since the last `forget`: only then may a session fail of it. */
  get haveStruck(): boolean {
    return this.#struck > 0
  }

  forget(): void {
    this.#struck = 0
  }

  strike(log: BlowLog, random: Random): Promise<void> {
    const outage = random.weighted(OUTAGES)
    const ms = Math.round(random.between(200, 1_500))
    const done = this.#turn.then(() => this.#strike(outage, ms, log))
    this.#turn = done.catch(() => undefined)
    return done
  }

  async #strike(outage: Outage, ms: number, log: BlowLog): Promise<void> {
    const end = await this.#begin(outage)
    if (end === null) return log.say(`no way here for: ${outage}`)
    this.#struck += 1
    log.say(`${outage} for ${ms} ms`)
    try {
      await sleep(ms)
    } finally {
      await end()
      log.say(`over: ${outage}`)
    }
  }

  /** Gives what ends it; null where this machine does not let it happen. */
  async #begin(outage: Outage): Promise<(() => Promise<void>) | null> {
    const remote = this.#remote
    switch (outage) {
      case 'remote away': {
        const away = `${remote.path}-away`
        await rename(remote.path, away)
        return () => rename(away, remote.path)
      }
      case 'remote refuses':
        await remote.refusePushes('Closed for a moment.')
        return () => remote.acceptPushes()
      case 'remote read-only':
        return makeReadOnly(remote.path).catch(() => null)
      case 'disk full': {
        const disk = this.#disk
        if (disk === null) return null
        this.shortage.isOn = true
        this.shortage.times += 1
        await disk.fill()
        return async () => {
          await disk.free()
          this.shortage.isOn = false
        }
      }
    }
  }
}
