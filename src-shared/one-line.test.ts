import { expect, it } from 'vitest'
import { contract } from './contract.ts'
import { oneLine } from './one-line.ts'
import { ProjectSettings } from './records.ts'

it('makes one line of what has several, and takes away what a terminal or a list would act on', () => {
  expect(oneLine('  Add\r\n a\tbutton \u001B[31m\u202Ered\u2029')).toBe('Add a button [31m red')
  expect(oneLine('Füge 👩‍👩‍👧 hinzu')).toBe('Füge 👩‍👩‍👧 hinzu')
})

it('is what the title of a ticket and the name of a project become', () => {
  const inputs = contract.tickets
  const add = inputs.add['~orpc'].inputSchema
  expect(add?.['~standard'].validate({ project: 'Shop', title: 'One\nTwo' })).toMatchObject({
    value: { title: 'One Two' },
  })
  expect(add?.['~standard'].validate({ project: 'Shop', title: '\n\u0007' })).toMatchObject({
    issues: [{ message: 'a ticket needs a title' }],
  })
  const edit = inputs.edit['~orpc'].inputSchema
  expect(edit?.['~standard'].validate({ ref: 'SHOP-1', title: 'One\nTwo' })).toMatchObject({
    value: { title: 'One Two' },
  })
  expect(ProjectSettings.parse({ name: 'My\nShop', repo: '/x' }).name).toBe('My Shop')
})
