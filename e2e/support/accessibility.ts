import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'

/** What a check of the page finds that keeps somebody from using it; a line each. */
export async function serious(window: Page): Promise<string[]> {
  // The legacy mode does without a second page, which Electron does not give.
  const axe = new AxeBuilder({ page: window }).setLegacyMode()
  // Every rule runs on everything; what passed is not described node by node, which took half of the time.
  const { violations } = await axe.options({ resultTypes: ['violations'] }).analyze()
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
    )
}
