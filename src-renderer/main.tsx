import './styles.ts'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { applyTheme } from './stores/theme.ts'
import { lastingClient } from './sync/connect.ts'

// First of all: the preload posts the port as soon as the scripts ran.
const client = lastingClient()

applyTheme(document.documentElement)
const root = document.getElementById('root')
if (root === null) throw new Error('the page has no place for the window')
createRoot(root).render(<App client={client} />)
