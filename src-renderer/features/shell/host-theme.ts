import { useEffect } from 'react'
import { setTheme } from '../../stores/theme.ts'
import { useRecords } from '../../sync/records.ts'

/** The theme is a setting of the host: changed anywhere, it holds here too. */
export function useHostTheme(): void {
  const theme = useRecords((records) => records.settings.get('settings')?.theme)
  useEffect(() => {
    if (theme !== undefined) setTheme(theme)
  }, [theme])
}
