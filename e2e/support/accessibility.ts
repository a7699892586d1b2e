import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'

/** What a check of the page finds that keeps somebody from using it; a line each. */
export async function serious(window: Page): Promise<string[]> {
  // The legacy mode does without a second page, which Electron does not give.
  const { violations } = await new AxeBuilder({ page: window }).setLegacyMode().analyze()
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
    )
}
