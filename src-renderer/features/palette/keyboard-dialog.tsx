import { commands } from '../../commands.ts'
import { showDialog } from '../../stores/layout.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Key } from '../../ui/key.tsx'

const elsewhere: { title: string; keys: string[] }[] = [
  { title: 'Send or queue the message', keys: ['Enter'] },
  { title: 'New line in the message', keys: ['Shift+Enter'] },
  { title: 'Interrupt (message box)', keys: ['Escape'] },
  { title: 'Interrupt and send', keys: ['Mod+Shift+Enter'] },
  { title: 'Steer: into the running turn', keys: ['Alt+Enter'] },
  { title: 'To what is queued (empty message box)', keys: ['↑'] },
  { title: 'Move a queued input', keys: ['Alt+↑', 'Alt+↓'] },
  { title: 'Change or cancel a queued input', keys: ['Enter', 'Delete'] },
  { title: 'Request: allow once, for session, deny', keys: ['Enter', 'S', 'D'] },
  { title: 'Question: pick, send', keys: ['1', 'Enter'] },
  { title: 'Question: other words, decide yourself', keys: ['O', 'D'] },
  { title: 'Inbox: next, back, open, undo', keys: ['J', 'K', 'E', 'U'] },
  { title: 'Create or save the ticket', keys: ['Mod+Enter'] },
  { title: 'Up and down (sidebar)', keys: ['↑', '↓'] },
  { title: 'Open beside (sidebar)', keys: ['Mod+Enter'] },
  { title: 'Turn above or below (timeline)', keys: ['Alt+↑', 'Alt+↓'] },
  { title: 'Next part of the window', keys: ['F6'] },
  { title: 'First or second pane', keys: ['Mod+1', 'Mod+2'] },
]

/** Lists every key that does something. */
export function KeyboardDialog() {
  const close = () => showDialog(null)
  return (
    <Dialog label="Keyboard" className="keyboard" onClose={close}>
      <div className="keyboard-body">
        <div className="keyboard-head">
          <h2>Keyboard</h2>
          <form method="dialog">
            <button type="submit" className="btn">
              Close <Key keys="Escape" />
            </button>
          </form>
        </div>
        <dl>
          {commands.map(({ id, title, keys }) =>
            keys === undefined ? null : (
              <div key={id}>
                <dt>{title.replace(/…$/, '')}</dt>
                <dd>
                  <Key keys={keys} />
                </dd>
              </div>
            ),
          )}
          {elsewhere.map(({ title, keys }) => (
            <div key={title}>
              <dt>{title}</dt>
              <dd>
                {keys.map((each) => (
                  <span key={each}>
                    {' '}
                    <Key keys={each} />
                  </span>
                ))}
              </dd>
            </div>
          ))}
        </dl>
      </div>
    </Dialog>
  )
}
